//! The expansion of `#[vectorize]`: the function as it is, two kernels that apply it to each element, and a type of the
//! function's name with the call for arrays.
//!
//! The kernels look like handwritten kernels with `#[kernel]`, and expand in the same way. The host broadcasts the
//! arrays and chooses the kernel when it has the arrays.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, FnArg, Ident, ItemFn, Pat, ReturnType, Type, parse_quote};

use crate::arguments;
use crate::kernel::Kernel;
use crate::signature::{self, Parameter, Problems, source_text, unsafety};

/// The largest number of operands: `cuda_std::vectorize` implements its traits for tuples up to this length.
const MOST: usize = 8;

pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let function = function(item, "vectorize", "#[vectorize] fn name(a: f32, b: f32) -> f32 { .. }")?;
    let checked = Function::new(&function);
    let stated = if arguments.is_empty() {
        quote! { block = 256 }
    } else {
        quote! { #arguments, block = 256 }
    };
    let parsed = arguments::parse(arguments.clone(), &function.sig).and_then(|strided| {
        let own_blocks = |_: Error| {
            let message =
                "the blocks of a vectorized function follow from how its arrays lie; remove `block` and `max_threads`";
            Error::new_spanned(&arguments, message)
        };
        Ok((arguments::parse(stated, &function.sig).map_err(own_blocks)?, strided))
    });
    let parsed = parsed.map_err(|error| renamed(error, "vectorize"));
    let (checked, (flat_arguments, strided_arguments)) = match (checked, parsed) {
        (Ok(checked), Ok(parsed)) => (checked, parsed),
        (Err(mut error), Err(other)) => {
            error.combine(other);
            return Err(error);
        }
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let (flat_arguments, strided_arguments) =
        (flat_arguments.with_suffix("flat"), strided_arguments.with_suffix("strided"));
    let flat = checked.kernel("flat", "Flat")?;
    let strided = checked.kernel("strided", "Strided")?;
    let kernels = [
        Kernel { function: &flat.0, parameters: &flat.1, arguments: &flat_arguments },
        Kernel { function: &strided.0, parameters: &strided.1, arguments: &strided_arguments },
    ];
    let conditions = kernels[0].conditions();
    let device = kernels.map(Kernel::entries);
    let host = checked.over(kernels);
    Ok(quote! {
        #function
        #[cfg(target_arch = "nvptx64")]
        #conditions
        const _: () = {
            #(#device)*
        };
        #host
    })
}

/// The item as a function.
pub(crate) fn function(item: TokenStream, attribute: &str, example: &str) -> syn::Result<ItemFn> {
    let place = item.clone();
    syn::parse2(item).map_err(|error| match syn::parse2::<syn::Item>(place.clone()) {
        Ok(syn::Item::Fn(_)) | Err(_) => error,
        Ok(_) => Error::new_spanned(place, format!("`#[{attribute}]` goes on a function: `{example}`")),
    })
}

/// Renames `#[kernel]` in an error to another attribute.
pub(crate) fn renamed(error: Error, attribute: &str) -> Error {
    let mut errors = error.into_iter().map(|error| {
        let message = error.to_string().replace("#[kernel", &format!("#[{attribute}"));
        Error::new(error.span(), message)
    });
    let first = errors.next().expect("an error has a message");
    errors.fold(first, |mut all, error| {
        all.combine(error);
        all
    })
}

/// A function of numbers, taken apart.
struct Function<'f> {
    item: &'f ItemFn,
    names: Vec<Ident>,
    operands: Vec<&'f Type>,
    result: &'f Type,
}

impl<'f> Function<'f> {
    fn new(item: &'f ItemFn) -> syn::Result<Self> {
        let mut problems = Problems::default();
        qualifiers(item, "vectorized", &mut problems);
        let signature = &item.sig;
        let mut names = Vec::new();
        let mut operands = Vec::new();
        for (index, input) in signature.inputs.iter().enumerate() {
            let FnArg::Typed(typed) = input else { continue };
            by_value(&typed.ty, &signature.ident, &mut problems);
            names.push(match &*typed.pat {
                Pat::Ident(pattern) => pattern.ident.clone(),
                pattern => format_ident!("operand_{index}", span = pattern.span()),
            });
            operands.push(&*typed.ty);
        }
        if operands.is_empty() {
            problems.add(
                &signature.ident,
                "a vectorized function has an operand at least: `fn name(a: f32) -> f32`; to set all elements there is `fill`",
            );
        } else if operands.len() > MOST {
            problems.add(
                operands[MOST],
                format!("a vectorized function has {MOST} operands at most; put several numbers into a structure"),
            );
        }
        match &signature.output {
            ReturnType::Type(_, result) if !matches!(&**result, Type::Tuple(tuple) if tuple.elems.is_empty()) => {
                problems.result()?;
                Ok(Self { item, names, operands, result })
            }
            _ => {
                problems.add(
                    &signature.ident,
                    "a vectorized function returns the element of the result: `fn name(a: f32) -> f32`",
                );
                problems.result()?;
                unreachable!("there is a problem")
            }
        }
    }

    /// A kernel that applies the function to each element; `ty` says how its operands lie.
    fn kernel(&self, suffix: &str, ty: &str) -> syn::Result<(ItemFn, Vec<Parameter>)> {
        let signature = &self.item.sig;
        let name = format_ident!("{}_{suffix}", signature.ident);
        let (operand, result) = (format_ident!("{ty}"), format_ident!("{ty}Result"));
        let (names, types, own, own_result) = (&self.names, &self.operands, &signature.ident, self.result);
        let vis = &self.item.vis;
        let attributes = self
            .item
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr"));
        let mut generics = signature.generics.clone();
        let predicates = self.predicates();
        generics.make_where_clause().predicates.extend(predicates);
        let (params, clause) = (&generics.params, &generics.where_clause);
        let values = generics.type_params().map(|parameter| &parameter.ident);
        let values = values.chain(generics.const_params().map(|parameter| &parameter.ident));
        let turbofish = (!params.is_empty()).then(|| quote! { ::<#(#values),*> });
        // The names of the written function may be those of anything; these are not seen from outside.
        let output = Ident::new("result", Span::mixed_site());
        let function: ItemFn = parse_quote! {
            #(#attributes)*
            #[allow(clippy::multiple_bound_locations)]
            #vis fn #name <#params> (
                #(#names: ::cuda_std::vectorize::#operand<#types>,)*
                mut #output: ::cuda_std::vectorize::#result<#own_result>,
            ) #clause {
                #output.each((#(#names,)*), |(#(#names,)*)| #own #turbofish (#(#names),*));
            }
        };
        let parameters = signature::parameters(&function)?;
        Ok((function, parameters))
    }

    /// That all numbers are plain data, said where they stand.
    fn predicates(&self) -> impl Iterator<Item = syn::WherePredicate> + '_ {
        let types = self.operands.iter().copied().chain([self.result]);
        types.map(|ty| {
            let predicate = quote_spanned! { ty.span() => #ty: ::cuda_std::vectorize::Value };
            parse_quote!(#predicate)
        })
    }

    /// The type of the function's name, with the call.
    fn over(&self, kernels: [Kernel<'_>; 2]) -> TokenStream {
        let ItemFn { sig, vis, .. } = self.item;
        let (name, result, names) = (&sig.ident, self.result, &self.names);
        let label = name.to_string();
        let conditions = kernels[0].conditions();
        let finders = kernels.map(Kernel::finder_items);
        let ranks: Vec<Ident> = (0..names.len()).map(|index| format_ident!("Operand{index}")).collect();
        let mut bounds = TokenStream::new();
        let mut rank = TokenStream::new();
        for (index, (operand, ty)) in ranks.iter().zip(&self.operands).enumerate() {
            bounds.extend(quote! { #operand: ::cuda_std::launch::Operand<'call, #ty>, });
            let own = quote! { <#operand as ::cuda_std::launch::Operand<'call, #ty>>::Rank };
            if index == 0 {
                rank = own;
            } else {
                bounds.extend(quote! { #rank: ::cuda_std::launch::Broadcast<#own>, });
                rank = quote! { <#rank as ::cuda_std::launch::Broadcast<#own>>::Output };
            }
        }
        let params = sig.generics.params.iter();
        let own_predicates = sig.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let predicates = self.predicates();
        let (founds, [flat, strided]): (Vec<_>, _) = {
            let found = kernels.map(Kernel::constant);
            let [(bound_flat, flat), (bound_strided, strided)] = found;
            (vec![bound_flat, bound_strided], [flat, strided])
        };
        let types: Vec<String> = self.operands.iter().map(source_text).collect();
        let about = format!(
            "The function [`{label}`](fn@{label}) for whole arrays, in a kernel: `{label}::over(..)` takes arrays, views, host \
             slices and numbers of {} and returns what a runtime maps to the result, an array of {}.",
            types.join(", "),
            source_text(result)
        );
        quote! {
            #[cfg(not(target_arch = "nvptx64"))]
            #conditions
            #[doc = #about]
            #[allow(non_camel_case_types, dead_code)]
            #vis enum #name {}

            #[cfg(not(target_arch = "nvptx64"))]
            #conditions
            const _: () = {
                #(#finders)*

                #[allow(dead_code)]
                impl #name {
                    /// The function applied to all elements of arrays that broadcast together, NumPy's rules.
                    #[allow(clippy::too_many_arguments, clippy::multiple_bound_locations)]
                    #vis fn over<'call, #(#params,)* #(#ranks,)*>(
                        #(#names: #ranks),*
                    ) -> ::cuda_std::launch::Map<'call, #result, #rank>
                    where
                        #(#own_predicates,)*
                        #(#predicates,)*
                        #(#founds)*
                        #bounds
                    {
                        let kernels = ::cuda_std::launch::Kernels::elementwise(#label, #flat, #strided);
                        let operands = [#(::cuda_std::launch::Operand::region(#names)),*];
                        // SAFETY: the kernels were made for these operands and this result.
                        unsafe { ::cuda_std::launch::Map::new(kernels, operands) }
                    }
                }
            };
        }
    }
}

/// The qualifiers that a function for arrays cannot have.
pub(crate) fn qualifiers(item: &ItemFn, what: &str, problems: &mut Problems) {
    let signature = &item.sig;
    if let Some(asyncness) = signature.asyncness {
        problems.add(asyncness, format!("a {what} function cannot be `async`; remove `async`"));
    }
    if let Some(unsafety) = unsafety(signature) {
        problems.add(
            unsafety,
            format!("a {what} function is called for any elements, so it cannot be `unsafe`; argue inside of it"),
        );
    }
    if let Some(abi) = &signature.abi {
        problems.add(abi, format!("a {what} function is an ordinary one; remove `extern`"));
    }
    for parameter in signature.generics.lifetimes() {
        problems.add(parameter, format!("a {what} function borrows nothing; remove the lifetime"));
    }
    if let Some(receiver) = signature.receiver() {
        problems.add(receiver, format!("a {what} function cannot be a method; write a function outside the `impl`"));
    }
}

fn by_value(ty: &Type, function: &Ident, problems: &mut Problems) {
    match ty {
        Type::Reference(reference) => {
            let element = match &*reference.elem {
                Type::Slice(slice) => &slice.elem,
                element => element,
            };
            problems.add(
                ty,
                format!(
                    "a vectorized function is called with one element of each operand: write `{}`, and pass the arrays to \
                     `{function}::over(..)`",
                    source_text(element)
                ),
            );
        }
        Type::ImplTrait(_) => problems.add(
            ty,
            "an unnamed type has no list of what to compile the function for; name it: \
             `#[vectorize(T = [f32, f64])] fn name<T: ..>(a: T) -> T`",
        ),
        Type::Ptr(_) | Type::Slice(_) | Type::FnPtr(_) | Type::TraitObject(_) => problems
            .add(ty, "a vectorized function takes elements of arrays: numbers, or structures that are plain data"),
        _ => {}
    }
}
