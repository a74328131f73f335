//! `#[kernels]` on the host: the module, with the PTX that the build script made of it. The device's compilation reads a copy without the
//! attribute (`one_file.rs` of `cuda_builder`).

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemMod, parse_quote, parse2};

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(Error::new_spanned(arguments, "`#[kernels]` takes no arguments"));
    }
    let wrong = "`#[kernels]` is for a module with a body, in which `#[kernel]` marks each kernel: `mod kernels { .. }`; kernels in files of \
                 their own are a crate";
    let tokens = item.clone();
    let mut module: ItemMod = parse2(item).map_err(|_| Error::new_spanned(&tokens, wrong))?;
    let Some((_, items)) = &mut module.content else {
        return Err(Error::new_spanned(module, wrong));
    };
    let help = "no build script builds these kernels: write build.rs with \
                `fn main() { cuda_builder::build_kernels(\"src/main.rs\") }`, and `cuda_builder` into [build-dependencies]";
    items.push(parse_quote! {
        /// The kernels of this file as PTX, for `Device::load`.
        pub const PTX: &str = ::core::include_str!(::core::env!("KERNELS_PTX", #help));
    });
    Ok(quote!(#module))
}

#[cfg(test)]
mod tests {
    use super::expand;
    use quote::quote;

    #[test]
    fn a_module_gets_its_ptx_and_everything_else_is_refused() {
        let made = expand(
            quote!(),
            quote!(
                pub mod kernels {
                    fn f() {}
                }
            ),
        )
        .unwrap()
        .to_string();
        assert!(made.contains("fn f ()") && made.contains("pub const PTX"), "{made}");
        for item in [
            quote!(
                mod kernels;
            ),
            quote!(
                fn f() {}
            ),
        ] {
            let error = expand(quote!(), item).unwrap_err();
            assert!(error.to_string().contains("mod kernels { .. }"), "{error}");
        }
        assert!(
            expand(
                quote!(fast),
                quote!(
                    mod kernels {}
                )
            )
            .is_err()
        );
    }
}
