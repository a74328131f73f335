//! Attributes of items that are not kernels: where a static stands, and functions for the device only.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Ident, Item, ItemFn, ItemStatic, StaticMutability};

use crate::symbols;

/// The address spaces of a static, and the section by which the builder knows each.
const SPACES: [(&str, Option<&str>); 3] =
    [("shared", Some(".shared")), ("constant", Some(".constant")), ("global", None)];

/// `#[address_space(shared)] static ..`
pub(crate) fn address_space(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let known = "write `#[address_space(shared)]`, `#[address_space(constant)]` or `#[address_space(global)]`";
    let space: Ident = syn::parse2(arguments).map_err(|error| Error::new(error.span(), known))?;
    let Some((_, section)) = SPACES.iter().find(|(name, _)| space == name) else {
        return Err(Error::new_spanned(&space, format!("a static cannot be in the address space `{space}`; {known}")));
    };
    let item = static_item("address_space", item)?;
    // The bound on types whose statics are used without `unsafe` in this memory.
    let bound = match space.to_string().as_str() {
        "shared" => Some(quote! { ::cuda_std::shared::Uninitialised }),
        "constant" => Some(quote! { ::cuda_std::constant::Unchanging }),
        _ => None,
    };
    let check = match (&item.mutability, bound) {
        (StaticMutability::None, Some(bound)) => {
            let (ty, conditions) = (&item.ty, conditions(&item.attrs));
            Some(quote_spanned! { ty.span() =>
                #(#conditions)*
                const _: () = {
                    const fn is<T: #bound>() {}
                    is::<#ty>();
                };
            })
        }
        _ => None,
    };
    let section = section.map(|section| {
        quote! { #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = #section))] }
    });
    Ok(quote! { #check #section #item })
}

/// `#[externally_visible] static ..`
pub(crate) fn externally_visible(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(
            arguments,
            "`#[externally_visible]` takes no arguments; the host finds the item by its name",
        ));
    }
    let item = syn::parse2::<Item>(item)?;
    match &item {
        Item::Static(item) => symbols::check(&item.ident)?,
        Item::Fn(item) => symbols::check(&item.sig.ident)?,
        other => {
            return Err(Error::new_spanned(
                other,
                "`#[externally_visible]` goes on a static, which the host then finds by its name",
            ));
        }
    }
    Ok(quote! { #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))] #item })
}

/// `#[gpu_only] fn ..`
pub(crate) fn gpu_only(item: TokenStream) -> syn::Result<TokenStream> {
    let place = item.clone();
    let function: ItemFn =
        syn::parse2(item).map_err(|_| Error::new_spanned(place, "`#[gpu_only]` goes on a function"))?;
    let ItemFn { attrs, vis, sig, .. } = &function;
    let message =
        format!("`{}` runs on a CUDA device only: call it from a `#[kernel]` function and launch that", sig.ident);
    let mut host = sig.clone();
    host.abi = None;
    Ok(quote! {
        #[cfg(target_arch = "nvptx64")]
        #function
        #[cfg(not(target_arch = "nvptx64"))]
        #(#attrs)*
        #[allow(unused_variables, unused_mut)]
        #vis #host {
            ::core::panic!(#message)
        }
    })
}

/// The conditions under which an item is compiled, for items beside it.
fn conditions(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"))
}

fn static_item(attribute: &str, item: TokenStream) -> syn::Result<ItemStatic> {
    let place = item.clone();
    syn::parse2(item).map_err(|_| {
        Error::new_spanned(
            place,
            format!("`#[{attribute}(..)]` goes on a static: `#[{attribute}(shared)] static mut TILE: [f32; 256] = [0.0; 256];`"),
        )
    })
}
