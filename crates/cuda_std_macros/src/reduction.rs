//! The expansion of `#[reduction]`: an operator in place of the function, and its two kernels.
//!
//! `cuda_std::algorithms` implements the kernels; this module gives them names and types.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, FnArg, ItemFn, ReturnType, Type};

use crate::signature::source_text;
use crate::signature::unsafety;
use crate::vectorize::function;

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "`#[reduction]` takes no arguments"));
    }
    let function = function(item, "reduction", "#[reduction] fn name(a: f32, b: f32) -> f32 { .. }")?;
    let ty = element(&function)?;
    let ItemFn { attrs, vis, sig, block, .. } = &function;
    let (name, inputs) = (&sig.ident, &sig.inputs);
    let (reduce, scan) = (format_ident!("{name}_reduce"), format_ident!("{name}_scan"));
    let std = quote! { ::cuda_std::algorithms };
    let vector = quote! { { 16 / ::core::mem::size_of::<#ty>() } };
    Ok(quote! {
        #(#attrs)*
        #[derive(Clone, Copy, Debug)]
        #[allow(non_camel_case_types)]
        #vis struct #name;

        impl #std::Operator<#ty> for #name {
            #[inline(always)]
            fn combine(#inputs) -> #ty #block
        }

        const _: () = {
            #[::cuda_std::kernel(block = #std::REDUCE_BLOCK)]
            fn #reduce(
                x: &[#ty],
                work: &[::cuda_std::atomic::Atomic<u32>],
                result: &[::cuda_std::atomic::Atomic<u32>],
                warps: ::cuda_std::shared::Shared<(::cuda_std::shared::PerWarp<#ty>, ::cuda_std::shared::PerWarp<u32>)>,
            ) {
                #std::reduce::<#ty, #name, #vector>(x, work, result, warps);
            }

            #[::cuda_std::kernel(block = #std::SCAN_BLOCK)]
            fn #scan(
                x: &[#ty],
                initial: #ty,
                is_exclusive: u32,
                y: #std::ScanOutput<#ty, #vector>,
                published: &[::cuda_std::atomic::Atomic<u64>],
                held: ::cuda_std::shared::Shared<::cuda_std::shared::Tile<::cuda_std::vector::Vector4<u32>, { #std::SCAN_TILE }>>,
                rows: ::cuda_std::shared::Shared<::cuda_std::shared::PerWarp<[#ty; { #std::SCAN_ROWS }], { #std::SCAN_WARPS }>>,
                before: ::cuda_std::shared::Shared<::cuda_std::shared::Table<#ty, 1>>,
            ) {
                let is_exclusive = is_exclusive != 0;
                #std::scan::<#ty, #name, #vector>(x, initial, is_exclusive, y, published, held, rows, before);
            }

            #[cfg(not(target_arch = "nvptx64"))]
            impl #std::Compiled<#ty> for #name {
                fn reduce<'c>(
                    x: impl ::cuda_std::launch::Memory<'c, #ty>,
                    work: impl ::cuda_std::launch::MemoryMut<'c, u32>,
                    result: impl ::cuda_std::launch::MemoryMut<'c, u32>,
                ) -> ::cuda_std::launch::Call<'c> {
                    #reduce(x, work, result)
                }

                fn scan<'c>(
                    x: impl ::cuda_std::launch::Memory<'c, #ty>,
                    initial: #ty,
                    is_exclusive: bool,
                    y: impl ::cuda_std::launch::MemoryMut<'c, #ty>,
                    published: impl ::cuda_std::launch::MemoryMut<'c, u64>,
                ) -> ::cuda_std::launch::Call<'c> {
                    #scan(x, initial, u32::from(is_exclusive), y, published)
                }
            }
        };
    })
}

/// Numbers of other sizes than 4 and 8 bytes, as they are written.
const OTHER_SIZES: &[&str] = &["u8", "i8", "bool", "u16", "i16", "f16", "bf16", "u128", "i128"];

/// The type of the elements, if the function is one of two elements.
fn element(function: &ItemFn) -> syn::Result<Type> {
    let sig = &function.sig;
    let wrong =
        |message: &str| Err(Error::new_spanned(sig, format!("{message}; write `fn {}(a: T, b: T) -> T`", sig.ident)));
    if !sig.generics.params.is_empty() {
        return wrong("a reduction is compiled for one type, so it cannot be generic");
    }
    if unsafety(sig).is_some() || sig.asyncness.is_some() {
        return wrong("a reduction is an ordinary function");
    }
    let types: Vec<&Type> = sig
        .inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Typed(input) => Some(&*input.ty),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let same = |a: &Type, b: &Type| source_text(a) == source_text(b);
    match (types.as_slice(), &sig.output) {
        ([a, b], ReturnType::Type(_, result)) if sig.inputs.len() == 2 && same(a, b) && same(a, result) => {
            let name = source_text(a);
            if OTHER_SIZES.contains(&&*name) {
                let message = format!("elements of a reduction have 4 or 8 bytes, other than `{name}`; convert them");
                return Err(Error::new_spanned(a, message));
            }
            Ok((*a).clone())
        }
        _ => wrong("a reduction makes one element of two of the same type"),
    }
}
