//! The signature of a kernel: what it may look like, and a sentence for each way it may not.
//!
//! Every problem is found in one pass and reported at its own place. Types are judged by their
//! syntax only: a type that has the right form but cannot be passed is left to the compiler, whose
//! message `cuda_std` words.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, ItemFn, Lifetime, Pat, PathArguments, ReturnType, Safety,
    Signature, Token, Type,
};

use crate::symbols;

/// The keyword `unsafe` of a function.
pub(crate) fn unsafety(signature: &Signature) -> Option<Token![unsafe]> {
    match signature.safety {
        Safety::Unsafe(token) => Some(token),
        Safety::Safe(_) | Safety::Default => None,
    }
}

/// A parameter of a kernel.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    /// Whether it is declared `mut`.
    pub(crate) mutable: Option<syn::Token![mut]>,
    pub(crate) attributes: Vec<Attribute>,
    /// The type as written.
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
}

/// How a parameter is passed.
pub(crate) enum Kind {
    /// As `cuda_std::KernelParameter` says for this type: the type as written, less the reference
    /// of a slice.
    Bound(Box<Type>),
    /// Unchanged, as a raw pointer.
    Pointer,
    /// As a reference to this type, of an unsafe kernel: the host passes a pointer.
    Reference(Box<Type>),
    /// As it is, of an unsafe kernel: any `Copy` type.
    Copied,
    /// Not at all: shared memory that the entry declares.
    Shared,
    /// As `Bound`: shared memory whose length the host passes.
    SharedSlice(Box<Type>),
    /// As `Bound`, but to memory that the launcher provides: what the blocks of a grid wait with, or shared memory of a size
    /// that its type tells.
    Grid(Box<Type>),
}

/// All problems of a kernel, as one error with several places.
#[derive(Default)]
pub(crate) struct Problems(Option<Error>);

impl Problems {
    /// The error, if there is a problem.
    pub(crate) fn result(self) -> syn::Result<()> {
        self.0.map_or(Ok(()), Err)
    }

    pub(crate) fn add(&mut self, place: impl ToTokens, message: impl std::fmt::Display) {
        self.combine(Error::new_spanned(place, message));
    }

    fn combine(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }
}

/// Checks that a function can be a kernel, and takes its parameters apart.
pub(crate) fn parameters(function: &ItemFn) -> syn::Result<Vec<Parameter>> {
    let mut problems = Problems::default();
    qualifiers(function, &mut problems);
    let unsafe_kernel = unsafety(&function.sig).is_some();
    let parameters: Vec<Parameter> =
        function.sig.inputs.iter().filter_map(|input| parameter(input, unsafe_kernel, &mut problems)).collect();
    sixteenth_barrier(&parameters, &mut problems);
    problems.result()?;
    Ok(parameters)
}

/// Checks the limit of 16 barriers in a block: `sync_threads` uses one, and each parameter of shared memory one.
/// `cuda_std::shared::barriers` counts parameters whose types have other names.
fn sixteenth_barrier(parameters: &[Parameter], problems: &mut Problems) {
    let mut shared =
        parameters.iter().filter(|parameter| matches!(parameter.kind, Kind::Shared | Kind::SharedSlice(_)));
    if let Some(parameter) = shared.nth(15) {
        problems.add(
            &parameter.ty,
            "a kernel can have 15 parameters of shared memory, one for each barrier; put several tiles into one, as a tuple",
        );
    }
}

/// Everything but the parameters.
fn qualifiers(function: &ItemFn, problems: &mut Problems) {
    let signature = &function.sig;
    if let Err(error) = symbols::check(&signature.ident) {
        problems.combine(error);
    }
    if let Some(asyncness) = signature.asyncness {
        problems.add(asyncness, "a kernel cannot be `async`: every thread runs it from start to end; remove `async`");
    }
    if let Some(constness) = signature.constness {
        problems.add(constness, "a kernel cannot be `const`: it runs on the device only; remove `const`");
    }
    if let Some(abi) = &signature.abi {
        problems.add(abi, "`#[kernel]` gives the function its calling convention; remove `extern`");
    }
    for parameter in signature.generics.lifetimes() {
        let lifetime = &parameter.lifetime;
        problems.add(parameter, format!("what a kernel is passed lives as long as its launch; leave `{lifetime}` out"));
    }
    if let Some(variadic) = &signature.variadic {
        problems.add(variadic, "a kernel cannot take a variable number of parameters; pass a slice");
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && !matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty())
    {
        problems.add(
            ty,
            "a kernel returns nothing: it runs in thousands of threads; write results to an output such as \
             `mut out: DisjointSlice<f32>`",
        );
    }
    for attribute in &function.attrs {
        let path = unwrap_unsafe(attribute);
        if path == "no_mangle" || path == "export_name" || path == "link_section" {
            problems.add(attribute, format!("`#[kernel]` exports the function under its own name; remove `#[{path}]`"));
        }
    }
}

/// The name of an attribute, also inside `#[unsafe(..)]`.
fn unwrap_unsafe(attribute: &Attribute) -> String {
    let name = |path: &syn::Path| path.get_ident().map(Ident::to_string).unwrap_or_default();
    let outer = name(attribute.path());
    if outer == "unsafe"
        && let Ok(inner) = attribute.parse_args::<syn::Meta>()
    {
        return name(inner.path());
    }
    outer
}

fn parameter(input: &FnArg, unsafe_kernel: bool, problems: &mut Problems) -> Option<Parameter> {
    let typed = match input {
        FnArg::Typed(typed) => typed,
        FnArg::Receiver(receiver) => {
            problems.add(
                receiver,
                "a kernel cannot be a method: the host has no `self` to pass; write a function outside the `impl` and \
                 pass the fields it needs",
            );
            return None;
        }
    };
    let Pat::Ident(pattern) = &*typed.pat else {
        problems.add(&typed.pat, "a kernel parameter is a plain name; name it and take it apart in the body");
        return None;
    };
    if let Some(by_ref) = pattern.by_ref {
        problems.add(by_ref, "a kernel parameter is a plain name; remove `ref`");
    }
    if let Some((_, subpattern)) = &pattern.subpat {
        problems.add(subpattern, "a kernel parameter is a plain name; remove the pattern");
    }
    let kind = kind(&typed.ty, unsafe_kernel, problems)?;
    Some(Parameter {
        name: pattern.ident.clone(),
        mutable: pattern.mutability,
        attributes: typed.attrs.clone(),
        ty: (*typed.ty).clone(),
        kind,
    })
}

/// How a type is passed, or a problem.
fn kind(ty: &Type, unsafe_kernel: bool, problems: &mut Problems) -> Option<Kind> {
    let text = |ty: &Type| source_text(ty);
    lifetimes(ty, problems);
    match ty {
        Type::Paren(inner) => kind(&inner.elem, unsafe_kernel, problems),
        Type::Group(inner) => kind(&inner.elem, unsafe_kernel, problems),
        Type::Reference(reference) => {
            match (&*reference.elem, reference.mutability) {
                (Type::Slice(slice), None) => {
                    shared_element(&slice.elem, problems);
                    Some(Kind::Bound(reference.elem.clone()))
                }
                (Type::Slice(slice), Some(_)) => {
                    let element = text(&slice.elem);
                    problems.add(
                    ty,
                    format!(
                        "every thread would get the same `&mut [{element}]`; write `mut out: DisjointSlice<{element}>`, in \
                         which each thread reaches its own element, or `&[Atomic<{element}>]`, which all threads may change"
                    ),
                );
                    None
                }
                (Type::Path(path), _) if path.path.is_ident("str") => {
                    problems.add(ty, "text cannot be passed to a kernel; pass its bytes, `&[u8]`");
                    None
                }
                (element, None) if unsafe_kernel => Some(Kind::Reference(Box::new(element.clone()))),
                (Type::Array(array), None) => {
                    let element = text(&array.elem);
                    problems.add(
                    ty,
                    format!(
                        "a reference to an array cannot be a kernel parameter; take `{}` by value, or a slice `&[{element}]`",
                        text(&reference.elem)
                    ),
                );
                    None
                }
                (Type::TraitObject(_), _) => {
                    problems.add(
                        ty,
                        "a trait object cannot be passed to a kernel: its functions are the host's; pass plain data",
                    );
                    None
                }
                (element, None) => {
                    let element = text(element);
                    problems.add(
                    ty,
                    format!("a reference cannot be a kernel parameter; take `{element}` by value, or a slice `&[{element}]`"),
                );
                    None
                }
                (element, Some(_)) => {
                    let element = text(element);
                    problems.add(
                    ty,
                    format!(
                        "every thread would get the same `&mut {element}`; write `mut out: Disjoint<{element}, PerBlock>` for one \
                         element per block, `DisjointSlice<{element}>` for one per thread, or `&[Atomic<{element}>]`"
                    ),
                );
                    None
                }
            }
        }
        Type::Ptr(_) if unsafe_kernel => Some(Kind::Pointer),
        Type::Ptr(pointer) => {
            let element = text(&pointer.elem);
            problems.add(
                ty,
                format!(
                    "a raw pointer makes a kernel unsafe to launch; write `unsafe fn`, or take `&[{element}]` to read and \
                     `DisjointSlice<{element}>` to write"
                ),
            );
            None
        }
        Type::Tuple(_) => {
            problems.add(
                ty,
                "a tuple has no fixed layout; write a structure with `#[repr(C)]` and \
                 `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`, or several parameters",
            );
            None
        }
        Type::ImplTrait(_) => {
            problems.add(
                ty,
                "an unnamed type has no list of what to compile the kernel for; name it: \
                 `#[kernel(T = [f32, f64])] fn name<T: ..>(x: T)`",
            );
            None
        }
        Type::TraitObject(_) => {
            problems
                .add(ty, "a trait object cannot be passed to a kernel: its functions are the host's; pass plain data");
            None
        }
        Type::FnPtr(_) => {
            problems.add(
                ty,
                "a function pointer of the host means nothing on the device; call the function by name in the kernel",
            );
            None
        }
        Type::Slice(slice) => {
            problems.add(ty, format!("a slice is passed by reference: write `&{}`", text(&Type::Slice(slice.clone()))));
            None
        }
        Type::Path(path) => path_kind(ty, path, unsafe_kernel, problems),
        _ => Some(Kind::Bound(Box::new(ty.clone()))),
    }
}

/// Reports a type of elements that host and device cannot share, if its syntax shows that.
fn shared_element(ty: &Type, problems: &mut Problems) {
    let rows = "slices of slices cannot be passed to a kernel: the inner addresses are of the host; pass all rows one behind the other, `&[f32]`, and the length of a row \
                or the offsets of the rows, `&[u32]`, or a matrix, `View<f32, 2>`";
    let advice = match ty {
        Type::Reference(_) | Type::Slice(_) => rows.to_owned(),
        Type::Tuple(tuple) if !tuple.elems.is_empty() => {
            "a tuple has no fixed layout; write a structure with `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`, \
             or a slice for each part"
                .to_owned()
        }
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return };
            match last.ident.to_string().as_str() {
                "Vec" | "Box" | "Rc" | "Arc" => rows.to_owned(),
                "String" => "text cannot be passed to a kernel; pass the bytes of all texts, `&[u8]`, and where each begins, `&[u32]`".to_owned(),
                "bool" => "a byte of device memory may be no valid `bool`; write `&[u8]`, with 0 and 1, and \
                           `x[i] != 0` in the kernel"
                    .to_owned(),
                "char" => "a word of device memory may be no valid `char`; write `&[u32]`, and pass \
                           `u32::from(c)`"
                    .to_owned(),
                name => match name.strip_prefix("Atomic").map(str::to_lowercase) {
                    Some(number) if NUMBERS.contains(&number.as_str()) => {
                        format!("atomic numbers of the device are `cuda_std::atomic::Atomic`: write `&[Atomic<{number}>]`, and pass `&mut vec`")
                    }
                    _ => return,
                },
            }
        }
        _ => return,
    };
    problems.add(ty, advice);
}

/// A named type: shared memory, a type of the standard library that people try, or any other.
fn path_kind(ty: &Type, path: &syn::TypePath, unsafe_kernel: bool, problems: &mut Problems) -> Option<Kind> {
    let last = path.path.segments.last()?;
    let element = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::Type(ty) => Some(source_text(ty)),
            _ => None,
        }),
        PathArguments::None | PathArguments::Parenthesized(_) => None,
    };
    let element = element.as_deref().unwrap_or("T");
    let advice = match last.ident.to_string().as_str() {
        "Shared" | "Alternating" | "Pipeline" | "ClusterShared" | "BlockScratch" => return Some(Kind::Shared),
        "GridGroup" | "ProductStages" | "ResidentPipeline" | "TensorExchange" | "TensorPipeline" | "TensorStaging" => {
            return Some(Kind::Grid(Box::new(ty.clone())));
        }
        "SharedSlice" => return Some(Kind::SharedSlice(Box::new(ty.clone()))),
        "Vec" | "Box" | "Rc" | "Arc" => format!(
            "memory that the host owns cannot be moved into a kernel; take `&[{element}]` to read or \
             `DisjointSlice<{element}>` to write, and pass `&{0}` or `&mut {0}` at the launch",
            last.ident.to_string().to_lowercase()
        ),
        "String" => "text cannot be passed to a kernel; pass its bytes, `&[u8]`".to_owned(),
        "Option" => format!(
            "`Option<{element}>` has no fixed layout; pass a `{element}` and a flag, or a value that stands for none"
        ),
        name if unsafe_kernel && !is_bound(name) => return Some(Kind::Copied),
        "Disjoint" | "DisjointSlice" | "View" => {
            if let PathArguments::AngleBracketed(arguments) = &last.arguments
                && let Some(GenericArgument::Type(first)) = arguments.args.first()
            {
                shared_element(first, problems);
            }
            return Some(Kind::Bound(Box::new(ty.clone())));
        }
        "HashMap" | "HashSet" | "BTreeMap" | "BTreeSet" => {
            "a collection of the host cannot be passed to a kernel; pass its keys and values as slices, `&[u32]` and `&[f32]`, sorted by key, \
             or as a table with open addressing"
                .to_owned()
        }
        _ => return Some(Kind::Bound(Box::new(ty.clone()))),
    };
    problems.add(ty, advice);
    None
}

const NUMBERS: [&str; 16] = [
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128",
    "usize",
];

/// Whether a type is a number or an output of the library, by its name: an unsafe kernel passes those as
/// a safe one does.
fn is_bound(name: &str) -> bool {
    NUMBERS.contains(&name) || name.starts_with("Disjoint")
}

/// The types of the library that live as long as the launch.
const OF_A_LAUNCH: [&str; 17] = [
    "Disjoint",
    "DisjointSlice",
    "GridGroup",
    "Im2colMap",
    "MatrixOutput",
    "ProductStages",
    "ResidentPipeline",
    "SharedSlice",
    "Symmetric",
    "TensorExchange",
    "TensorMap",
    "TensorMap4",
    "TensorOutput",
    "TensorOutput4",
    "TensorPipeline",
    "TensorStaging",
    "View",
];

/// A parameter type in the bound of an argument, where a lifetime cannot be left out as it is in the kernel's signature. Types
/// that are known by their names are given one; whether another has one inside is not known, and it is the argument of a
/// function pointer, where it can be left out: see `cuda_std::launch::Written`.
pub(crate) fn passed(ty: &Type, is_parameter: impl Fn(&Ident) -> bool) -> TokenStream {
    let Type::Path(path) = ty else {
        return quote! { #ty };
    };
    if let Some(name) = path.path.get_ident()
        && (NUMBERS.contains(&&*name.to_string()) || is_parameter(name))
    {
        return quote! { #ty };
    }
    let mut path = path.clone();
    let Some(last) = path.path.segments.last_mut() else {
        return quote! { #ty };
    };
    let lifetime = Lifetime::new("'static", last.ident.span());
    let name = last.ident.to_string();
    let is_known = OF_A_LAUNCH.contains(&&*name);
    match &mut last.arguments {
        PathArguments::AngleBracketed(arguments) if is_known && (name != "View" || arguments.args.len() == 2) => {
            arguments.args.insert(0, GenericArgument::Lifetime(lifetime));
            quote! { #path }
        }
        PathArguments::None if is_known => quote! { #path<#lifetime> },
        _ => quote_spanned! { ty.span() => ::cuda_std::launch::Written<fn(#ty)> },
    }
}

/// A kernel's parameters live as long as the launch, which has no name.
fn lifetimes(ty: &Type, problems: &mut Problems) {
    struct Finder<'p>(&'p mut Problems);
    impl<'ast> Visit<'ast> for Finder<'_> {
        fn visit_lifetime(&mut self, lifetime: &'ast Lifetime) {
            self.0
                .add(lifetime, format!("what a kernel is passed lives as long as its launch; leave `{lifetime}` out"));
        }
    }
    Finder(problems).visit_type(ty);
}

/// A type or a value as one would write it: tokens, less the spaces that printing tokens adds.
pub(crate) fn source_text(ty: &impl ToTokens) -> String {
    let mut text = String::new();
    for character in ty.to_token_stream().to_string().chars() {
        let glued = |c: char| "<>&[](),:*;".contains(c);
        if character == ' ' && text.chars().last().is_none_or(|last| glued(last) && last != ',' && last != ';') {
            continue;
        }
        if glued(character) && !"&*[(".contains(character) && text.ends_with(' ') {
            text.pop();
        }
        text.push(character);
    }
    text
}
