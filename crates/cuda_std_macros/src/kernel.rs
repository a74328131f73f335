//! The expansion of `#[kernel]`: an entry for the device, a launcher for the host.
//!
//! Both are a single function item that holds the written function inside, so nothing is added to
//! the names around it, and the host's compiler (and the editor) checks the body too.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Ident, ItemFn, Type};

use crate::signature::{self, Kind, Parameter};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if let Some(first) = arguments.into_iter().next() {
        return Err(Error::new(
            first.span(),
            "`#[kernel]` takes no arguments; grid, block and shared memory are chosen at the launch",
        ));
    }
    let place = item.clone();
    let function: ItemFn = syn::parse2(item).map_err(|error| not_a_function(place, error))?;
    let parameters = signature::parameters(&function)?;
    let device = device(&function, &parameters);
    let host = host(&function, &parameters);
    Ok(quote! { #device #host })
}

/// The error for an item that is no function; a function that does not parse keeps its own error.
fn not_a_function(item: TokenStream, error: Error) -> Error {
    match syn::parse2::<syn::Item>(item.clone()) {
        Ok(syn::Item::Fn(_)) | Err(_) => error,
        Ok(_) => Error::new_spanned(
            item,
            "`#[kernel]` goes on a function: `#[kernel] fn name(x: &[f32], mut y: DisjointSlice<f32>) { .. }`",
        ),
    }
}

/// The written function, to be nested in the entry or the launcher.
fn body(function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let ItemFn { sig, block, attrs, .. } = function;
    let unsafety = sig.unsafety;
    let name = &sig.ident;
    let attributes = attrs.iter().filter(|attribute| !is_doc(attribute));
    let parameters = parameters.iter().map(
        |Parameter {
             name,
             mutable,
             attributes,
             ty,
             ..
         }| quote! { #(#attributes)* #mutable #name: #ty },
    );
    quote! {
        #(#attributes)*
        #[inline(always)]
        #[allow(dead_code, clippy::too_many_arguments, clippy::inline_always, clippy::missing_safety_doc)]
        #unsafety fn #name(#(#parameters),*) #block
    }
}

fn is_doc(attribute: &Attribute) -> bool {
    attribute.path().is_ident("doc")
}

/// Attributes that both the entry and the launcher keep: documentation and conditions.
fn kept(function: &ItemFn) -> impl Iterator<Item = &Attribute> {
    function.attrs.iter().filter(|attribute| {
        ["doc", "cfg", "cfg_attr", "deprecated"]
            .iter()
            .any(|name| attribute.path().is_ident(name))
    })
}

/// The PTX entry: each parameter as the PTX parameters it is made of, put together again.
fn device(function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let name = &function.sig.ident;
    let vis = &function.vis;
    let kept = kept(function);
    let mut entry = Vec::new();
    let mut statics = Vec::new();
    let mut values = Vec::new();
    let mut barrier = 0u32;
    for (index, parameter) in parameters.iter().enumerate() {
        let words: Vec<Ident> = ["a", "b", "c", "d"]
            .iter()
            .map(|word| format_ident!("p{index}_{word}", span = Span::mixed_site()))
            .collect();
        let written = &parameter.ty;
        match &parameter.kind {
            Kind::Bound(ty) => {
                for (word, part) in words.iter().zip(["A", "B", "C", "D"]) {
                    let part = Ident::new(part, Span::mixed_site());
                    entry.push(quote! { #word: <#ty as ::cuda_std::KernelParameter>::#part });
                }
                values.push(quote! {
                    <#ty as ::cuda_std::KernelParameter>::assemble(#(#words),*)
                });
            }
            Kind::Pointer => {
                let word = &words[0];
                entry.push(quote! { #word: #written });
                values.push(quote! { #word });
            }
            Kind::Shared => {
                // Barrier 0 is `sync_threads`: see `cuda_std::shared` for why each has its own.
                barrier += 1;
                let storage = format_ident!(
                    "{}_{}",
                    name.to_string().to_uppercase(),
                    parameter.name.to_string().to_uppercase(),
                    span = Span::mixed_site()
                );
                statics.push(quote! {
                    #[unsafe(link_section = ".shared")]
                    static #storage: ::cuda_std::shared::Storage<
                        <#written as ::cuda_std::shared::SharedParameter>::Memory
                    > = ::cuda_std::shared::Storage::uninit();
                });
                values.push(quote! {
                    <#written as ::cuda_std::shared::SharedParameter>::assemble::<#barrier>(&#storage)
                });
            }
        }
    }
    let body = body(function, parameters);
    quote! {
        #[cfg(target_arch = "nvptx64")]
        ::cuda_std::__entry! {
            #(#kept)*
            #vis fn #name(#(#entry),*) {
                #body
                #(#statics)*
                // SAFETY: the host's launcher passed these, and checked what they rest on.
                unsafe { #name(#(#values),*) }
            }
        }
    }
}

/// The launcher: binds each argument, in the order of the PTX parameters.
fn host(function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let name = &function.sig.ident;
    let vis = &function.vis;
    let unsafety = function.sig.unsafety;
    let kept = kept(function);
    let arguments = Ident::new("arguments", Span::mixed_site());
    let mut inputs = Vec::new();
    let mut binds = Vec::new();
    let mut descriptions = Vec::new();
    let mut tiles = Vec::new();
    for parameter in parameters {
        let Parameter { name, ty: written, .. } = parameter;
        let text = source_text(written);
        let label = name.to_string();
        let (ty, role) = match &parameter.kind {
            Kind::Shared => {
                tiles.push(quote! {
                    <#written as ::cuda_std::shared::SharedParameter>::BLOCK
                });
                continue;
            }
            Kind::Pointer => (written, quote! { ::cuda_std::launch::Role::Pointer }),
            Kind::Bound(ty) => (
                &**ty,
                quote_spanned! { written.span() => <#ty as ::cuda_std::KernelParameter>::ROLE },
            ),
        };
        inputs.push(quote! { #name: impl ::cuda_std::launch::Argument<'call, #ty> });
        binds.push(quote! {
            ::cuda_std::launch::Argument::<'call, #ty>::bind(#name, &mut #arguments);
        });
        descriptions.push(quote! {
            ::cuda_std::launch::Parameter::new(#label, #text, #role)
        });
    }
    let tiles = (!tiles.is_empty()).then(|| quote! { .with_tiles(&[#(#tiles),*]) });
    let body = body(function, parameters);
    let label = name.to_string();
    let line = u32::try_from(name.span().unwrap().line()).unwrap_or(0);
    quote! {
        #[cfg(not(target_arch = "nvptx64"))]
        #(#kept)*
        #[allow(clippy::too_many_arguments)]
        #vis #unsafety fn #name<'call>(#(#inputs),*) -> ::cuda_std::launch::Call<'call> {
            #body
            static KERNEL: ::cuda_std::launch::Kernel = ::cuda_std::launch::Kernel::new(
                #label,
                ::core::module_path!(),
                ::core::file!(),
                #line,
                &[#(#descriptions),*],
            )
            #tiles;
            let mut #arguments = ::cuda_std::launch::Arguments::new();
            #(#binds)*
            // SAFETY: each parameter of the kernel was bound above, in order and by its type.
            unsafe { ::cuda_std::launch::Call::new(&KERNEL, #arguments) }
        }
    }
}

/// A type as one would write it: tokens, less the spaces that printing tokens adds.
pub(crate) fn source_text(ty: &Type) -> String {
    let mut text = String::new();
    for character in ty.to_token_stream().to_string().chars() {
        let glued = |c: char| "<>&[](),:*;".contains(c);
        if character == ' '
            && text
                .chars()
                .last()
                .is_none_or(|last| glued(last) && last != ',' && last != ';')
        {
            continue;
        }
        if glued(character) && !"&*[(".contains(character) && text.ends_with(' ') {
            text.pop();
        }
        text.push(character);
    }
    text
}
