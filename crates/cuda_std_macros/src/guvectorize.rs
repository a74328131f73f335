//! The expansion of `#[guvectorize]`: the function as it is, a kernel that calls it for each index of the axes around its
//! arrays, and a type of the function's name with the call for arrays.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{ParseStream, Parser};
use syn::{
    Error, Expr, FnArg, GenericArgument, Ident, ItemFn, LitStr, Pat, PathArguments, ReturnType, Token, Type,
    parse_quote,
};

use crate::arguments;
use crate::kernel::Kernel;
use crate::signature::{self, Problems, source_text};
use crate::vectorize::{function, qualifiers, renamed};

/// The largest number of operands: `cuda_std::vectorize` implements its traits for tuples up to this length.
const MOST: usize = 8;

pub(crate) fn expand(attribute: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let example =
        "#[guvectorize(\"(n),(n)->()\")] fn dot(a: View<f32, 1>, b: View<f32, 1>, mut sum: ViewMut<f32, 0>) { .. }";
    let function = function(item, "guvectorize", example)?;
    let (layout, rest) = layout(attribute)?;
    let arguments = arguments::parse(rest, &function.sig).map_err(|error| renamed(error, "guvectorize"))?;
    let gufunc = Gufunc::new(&function, &layout)?;
    let (kernel, parameters) = gufunc.kernel()?;
    let kernel = Kernel { function: &kernel, parameters: &parameters, arguments: &arguments };
    let (conditions, entries, host) = (kernel.conditions(), kernel.entries(), gufunc.over(kernel));
    Ok(quote! {
        #function
        #[cfg(target_arch = "nvptx64")]
        #conditions
        const _: () = {
            #entries
        };
        #host
    })
}

/// The axes of each array: `"(m,n),(n)->(m)"`.
struct Layout {
    text: LitStr,
    operands: Vec<Vec<String>>,
    result: Vec<String>,
}

/// The signature, and what is stated besides.
fn layout(attribute: TokenStream) -> syn::Result<(Layout, TokenStream)> {
    let parser = |input: ParseStream<'_>| {
        let text: LitStr = input.parse().map_err(|error| {
            Error::new(
                error.span(),
                "the axes of the function's arrays come first: `#[guvectorize(\"(m,n),(n,p)->(m,p)\")]`",
            )
        })?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Ok((text, input.parse::<TokenStream>()?))
    };
    let (text, rest) = parser.parse2(attribute)?;
    let wrong = |message: String| Error::new(text.span(), message);
    let value: String = text.value().split_whitespace().collect();
    let (operands, result) =
        value.split_once("->").ok_or_else(|| wrong("there is no `->`: write `(m,n),(n,p)->(m,p)`".to_owned()))?;
    let operands = arrays(operands).map_err(&wrong)?;
    let [result] = <[Vec<String>; 1]>::try_from(arrays(result).map_err(&wrong)?)
        .map_err(|results| wrong(format!("there is one result, not {}", results.len())))?;
    for name in &result {
        let is_number = name.parse::<usize>().is_ok();
        if !is_number && !operands.iter().flatten().any(|known| known == name) {
            return Err(wrong(format!("how long axis `{name}` of the result is, no operand says")));
        }
    }
    Ok((Layout { text, operands, result }, rest))
}

/// `(m,n),(n)`
fn arrays(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut arrays = Vec::new();
    let mut rest = text;
    loop {
        let (axes, after) = rest
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .ok_or_else(|| format!("axes stand in parentheses, as in `(m,n)`, not `{rest}`"))?;
        let axes: Vec<String> = match axes {
            "" => Vec::new(),
            _ => axes.split(',').map(str::to_owned).collect(),
        };
        for axis in &axes {
            let is_name = syn::parse_str::<Ident>(axis).is_ok();
            if !is_name && axis.parse::<usize>().is_err() {
                return Err(format!("`{axis}` is no name of an axis and no length"));
            }
        }
        if axes.len() > 4 {
            return Err(format!("({}) are more than 4 axes", axes.join(",")));
        }
        arrays.push(axes);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None if after.is_empty() => return Ok(arrays),
            None => return Err(format!("after an array comes `,` or `->`, not `{after}`")),
        }
    }
}

/// An array of the function.
struct Array<'f> {
    name: Ident,
    element: &'f Type,
    /// Not a view: one element, by value.
    single: bool,
}

/// A function of arrays, taken apart.
struct Gufunc<'f> {
    item: &'f ItemFn,
    layout: &'f Layout,
    operands: Vec<Array<'f>>,
    result: Array<'f>,
}

impl<'f> Gufunc<'f> {
    fn new(item: &'f ItemFn, layout: &'f Layout) -> syn::Result<Self> {
        let mut problems = Problems::default();
        qualifiers(item, "vectorized", &mut problems);
        let signature = &item.sig;
        let (wanted, given) = (layout.operands.len() + 1, signature.inputs.len());
        if wanted != given {
            problems.add(
                &signature.ident,
                format!("\"{}\" has {wanted} arrays, but the function takes {given}", layout.text.value()),
            );
        }
        if wanted > MOST + 1 {
            problems.add(&layout.text, format!("a vectorized function has {MOST} operands at most"));
        }
        if let ReturnType::Type(_, ty) = &signature.output {
            problems.add(ty, "the result is written to the last parameter, `mut out: ViewMut<T, N>`; return nothing");
        }
        let axes = layout.operands.iter().chain([&layout.result]);
        let arrays: Vec<Array<'f>> = signature
            .inputs
            .iter()
            .zip(axes)
            .enumerate()
            .filter_map(|(index, (input, axes))| {
                let FnArg::Typed(typed) = input else { return None };
                let name = match &*typed.pat {
                    Pat::Ident(pattern) => pattern.ident.clone(),
                    _ => format_ident!("operand_{index}"),
                };
                array(name, &typed.ty, axes, index + 1 == wanted, &mut problems)
            })
            .collect();
        problems.result()?;
        let mut operands = arrays;
        let result = operands.pop().expect("there is a parameter for each array");
        Ok(Self { item, layout, operands, result })
    }

    /// The kernel that makes the calls.
    fn kernel(&self) -> syn::Result<(ItemFn, Vec<signature::Parameter>)> {
        let signature = &self.item.sig;
        let (own, vis) = (&signature.ident, &self.item.vis);
        let name = format_ident!("{own}_loop");
        let mut generics = signature.generics.clone();
        let elements = self.operands.iter().chain([&self.result]).map(|array| array.element);
        let predicates = elements.map(|ty| -> syn::WherePredicate { parse_quote!(#ty: ::cuda_std::vectorize::Value) });
        generics.make_where_clause().predicates.extend(predicates);
        let (params, clause) = (&generics.params, &generics.where_clause);
        let types = self.operands.iter().zip(&self.layout.operands).map(|(array, axes)| {
            let (element, rank) = (array.element, axes.len());
            if array.single {
                quote! { ::cuda_std::vectorize::Single<#element> }
            } else {
                quote! { ::cuda_std::vectorize::Looped<#element, #rank> }
            }
        });
        let names: Vec<&Ident> = self.operands.iter().map(|array| &array.name).collect();
        let (element, rank) = (self.result.element, self.layout.result.len());
        let conditions = self
            .item
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr"));
        let values = generics.type_params().map(|parameter| &parameter.ident);
        let values = values.chain(generics.const_params().map(|parameter| &parameter.ident));
        let turbofish = (!params.is_empty()).then(|| quote! { ::<#(#values),*> });
        let (output, view) = (Ident::new("result", Span::mixed_site()), Ident::new("view", Span::mixed_site()));
        let function: ItemFn = parse_quote! {
            #(#conditions)*
            #[allow(clippy::multiple_bound_locations)]
            #vis fn #name <#params> (
                #(#names: #types,)*
                mut #output: ::cuda_std::vectorize::LoopedResult<#element, #rank>,
            ) #clause {
                #output.each((#(#names,)*), |(#(#names,)*), #view| #own #turbofish (#(#names,)* #view));
            }
        };
        let parameters = signature::parameters(&function)?;
        Ok((function, parameters))
    }

    /// A proof that the function takes views of any lifetime, and so keeps no view beyond a launch. For a generic
    /// function the device's compilation proves it.
    fn outlived(&self) -> TokenStream {
        let sig = &self.item.sig;
        if sig.generics.type_params().next().is_some() || sig.generics.const_params().next().is_some() {
            return TokenStream::new();
        }
        let operands = self.operands.iter().zip(&self.layout.operands).map(|(array, axes)| {
            let (element, rank) = (array.element, axes.len());
            if array.single {
                quote! { #element }
            } else {
                quote! { ::cuda_std::View<'launch, #element, #rank> }
            }
        });
        let (name, element, rank) = (&sig.ident, self.result.element, self.layout.result.len());
        quote! {
            const _: for<'launch> fn(#(#operands,)* ::cuda_std::ViewMut<'launch, #element, #rank>) = #name;
        }
    }

    /// The type of the function's name, with the call.
    fn over(&self, kernel: Kernel<'_>) -> TokenStream {
        let ItemFn { sig, vis, .. } = self.item;
        let (name, text) = (&sig.ident, self.layout.text.value());
        let label = name.to_string();
        let (conditions, finder, (found, constant)) = (kernel.conditions(), kernel.finder_items(), kernel.constant());
        let names: Vec<&Ident> = self.operands.iter().map(|array| &array.name).collect();
        let types: Vec<Ident> = (0..names.len()).map(|index| format_ident!("Operand{index}")).collect();
        let mut bounds = TokenStream::new();
        let mut around = TokenStream::new();
        for (index, ((operand, array), axes)) in types.iter().zip(&self.operands).zip(&self.layout.operands).enumerate()
        {
            let (element, rank) = (array.element, axes.len());
            let own = quote! { <#operand as ::cuda_std::launch::Operand<'call, #element>>::Rank };
            bounds.extend(quote! {
                #operand: ::cuda_std::launch::Operand<'call, #element>,
                #own: ::cuda_std::launch::Split<#rank>,
            });
            let own = quote! { <#own as ::cuda_std::launch::Split<#rank>>::Around };
            if index == 0 {
                around = own;
            } else {
                bounds.extend(quote! { #around: ::cuda_std::launch::Broadcast<#own>, });
                around = quote! { <#around as ::cuda_std::launch::Broadcast<#own>>::Output };
            }
        }
        let (result, rank) = (self.result.element, self.layout.result.len());
        bounds.extend(quote! { #around: ::cuda_std::launch::Join<#rank>, });
        let all = quote! { <#around as ::cuda_std::launch::Join<#rank>>::All };
        let lengths = |axes: &[String]| {
            let lengths = axes.iter().map(|axis| match axis.parse::<usize>() {
                Ok(length) => quote! { ::cuda_std::launch::Length::Fixed(#length) },
                Err(_) => quote! { ::cuda_std::launch::Length::Named(#axis) },
            });
            quote! { &[#(#lengths),*] }
        };
        let (operand_axes, result_axes) =
            (self.layout.operands.iter().map(|axes| lengths(axes)), lengths(&self.layout.result));
        let outlived = self.outlived();
        let params = sig.generics.params.iter();
        let predicates = sig.generics.where_clause.iter().flat_map(|clause| &clause.predicates);
        let about = format!(
            "The function [`{label}`](fn@{label}) for many arrays, in a kernel: `{label}::over(..)` takes arrays whose last axes \
             are `{text}`, and returns what a runtime maps to the results."
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
                #finder
                #outlived

                #[allow(dead_code)]
                impl #name {
                    /// The function called for each index of the axes around its arrays, which broadcast together.
                    #[allow(clippy::too_many_arguments, clippy::multiple_bound_locations)]
                    #vis fn over<'call, #(#params,)* #(#types,)*>(
                        #(#names: #types),*
                    ) -> ::cuda_std::launch::Map<'call, #result, #all>
                    where
                        #(#predicates,)*
                        #found
                        #bounds
                    {
                        static SIGNATURE: ::cuda_std::launch::Signature = ::cuda_std::launch::Signature {
                            text: #text,
                            operands: &[#(#operand_axes),*],
                            result: #result_axes,
                        };
                        let kernels = ::cuda_std::launch::Kernels::looped(#label, #constant, &SIGNATURE);
                        let operands = [#(::cuda_std::launch::Operand::region(#names)),*];
                        // SAFETY: the kernel was made for these operands and this result.
                        unsafe { ::cuda_std::launch::Map::new(kernels, operands) }
                    }
                }
            };
        }
    }
}

/// A parameter as an array with these axes.
fn array<'f>(
    name: Ident,
    ty: &'f Type,
    axes: &[String],
    is_result: bool,
    problems: &mut Problems,
) -> Option<Array<'f>> {
    let (wanted, rank) = (if is_result { "ViewMut" } else { "View" }, axes.len());
    if let Type::Path(path) = ty
        && let Some(last) = path.path.segments.last()
        && (last.ident == "View" || last.ident == "ViewMut")
        && let PathArguments::AngleBracketed(generics) = &last.arguments
    {
        let mut generics = generics.args.iter().filter(|argument| !matches!(argument, GenericArgument::Lifetime(_)));
        let (element, count) = (generics.next(), generics.next());
        let literal = match count {
            Some(GenericArgument::Const(Expr::Lit(literal))) => source_text(literal).parse::<usize>().ok(),
            _ => None,
        };
        if last.ident != wanted || literal.is_some_and(|literal| literal != rank) {
            let element = element.map(source_text).unwrap_or_default();
            problems.add(ty, format!("with the axes ({}) this is a `{wanted}<{element}, {rank}>`", axes.join(",")));
            return None;
        }
        if let Some(GenericArgument::Type(element)) = element {
            let single = false;
            return Some(Array { name, element, single });
        }
    }
    if !is_result && axes.is_empty() && !matches!(ty, Type::Reference(_) | Type::Ptr(_) | Type::Slice(_)) {
        return Some(Array { name, element: ty, single: true });
    }
    problems.add(ty, format!("an array with the axes ({}) is taken as `{wanted}<T, {rank}>`", axes.join(",")));
    None
}
