//! The arguments of `#[kernel(..)]`: what the kernel states about its launches, and what a generic
//! kernel is compiled for.
//!
//! Numbers stay expressions: whether one is possible is decided where `cuda_std::Contract` is made.

use std::collections::HashSet;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Error, Expr, ExprLit, GenericParam, Generics, Ident, Lit, LitStr, Signature, Token, Type, UnOp, bracketed,
    parenthesized, token,
};

use crate::signature::{Problems, source_text};
use crate::symbols;

/// The contents of the parentheses.
pub(crate) struct Arguments {
    contract: Vec<(Ident, TokenStream)>,
    /// Whether mathematics are fast: not stated about launches, but how the kernel is compiled.
    pub(crate) fast_math: bool,
    /// The architectures that the kernel is compiled for, if it states some.
    pub(crate) architectures: Vec<LitStr>,
    /// The name in the PTX, if it is not the function's.
    name: Option<LitStr>,
    /// The instances of a generic kernel; for any other kernel one instance, without bindings.
    pub(crate) instances: Vec<Instance>,
}

/// A kernel with a value for each of its type and const parameters.
#[derive(Clone)]
pub(crate) struct Instance {
    /// In the order of the parameters.
    pub(crate) bindings: Vec<Binding>,
}

/// A value of a type or const parameter.
#[derive(Clone)]
pub(crate) struct Binding {
    pub(crate) parameter: GenericParam,
    pub(crate) value: TokenStream,
}

impl Arguments {
    /// The `cuda_std::Contract`.
    pub(crate) fn contract(&self) -> TokenStream {
        // An error in a value is shown where the value stands: so is the call that finds it.
        self.contract.iter().fold(quote! { ::cuda_std::Contract::ANY }, |stated, (key, value)| {
            let place = if value.is_empty() { key.span() } else { value.span() };
            let key = Ident::new(&key.to_string(), place);
            quote_spanned! { place => ::cuda_std::Contract::#key(#stated, #value) }
        })
    }

    /// The name in the PTX of a kernel by this function; a generic kernel has its types' behind it.
    pub(crate) fn entry(&self, function: &Ident) -> Ident {
        match &self.name {
            Some(name) => Ident::new(&name.value(), name.span()),
            None => function.clone(),
        }
    }

    /// The arguments of one of several kernels of a function: a name that is stated gets an end.
    pub(crate) fn with_suffix(mut self, suffix: &str) -> Self {
        self.name = self.name.map(|name| LitStr::new(&format!("{}_{suffix}", name.value()), name.span()));
        self
    }

    /// Where the contract's first value stands.
    pub(crate) fn place(&self) -> Option<Span> {
        let (key, value) = self.contract.first()?;
        Some(if value.is_empty() { key.span() } else { value.span() })
    }

    /// Whether all blocks run at the same time.
    pub(crate) fn is_cooperative(&self) -> bool {
        self.states("cooperative")
    }

    /// Whether a launch may begin before the kernel ahead of it has ended.
    pub(crate) fn is_dependent(&self) -> bool {
        self.states("dependent")
    }

    fn states(&self, wanted: &str) -> bool {
        self.contract.iter().any(|(key, _)| *key == wanted)
    }

    /// Whether something is stated that becomes a PTX directive.
    pub(crate) fn states_directives(&self) -> bool {
        self.contract.iter().any(|(key, _)| *key != "dynamic_shared" && *key != "cooperative" && *key != "dependent")
    }
}

impl Instance {
    /// The PTX entry of a kernel of this name: the name, then each value's.
    pub(crate) fn entry(&self, kernel: &Ident) -> Ident {
        let mut name = kernel.to_string();
        for binding in &self.bindings {
            name.push('_');
            name.push_str(&binding.name());
        }
        Ident::new(&name, kernel.span())
    }

    /// `T = f32, N = 4`
    pub(crate) fn describe(&self) -> String {
        let bindings = self.bindings.iter().filter_map(|Binding { parameter, value }| {
            ident(parameter).map(|name| format!("{name} = {}", source_text(value)))
        });
        bindings.collect::<Vec<_>>().join(", ")
    }

    /// Items that make each parameter a name for its value.
    pub(crate) fn aliases(&self) -> TokenStream {
        let aliases = self.bindings.iter().map(|Binding { parameter, value }| match parameter {
            GenericParam::Const(parameter) => {
                let (name, ty) = (&parameter.ident, &parameter.ty);
                quote! { #[allow(dead_code)] const #name: #ty = #value; }
            }
            GenericParam::Type(syn::TypeParam { ident: name, .. }) => {
                quote! { #[allow(dead_code)] type #name = #value; }
            }
            GenericParam::Lifetime(_) => TokenStream::new(),
        });
        quote! { #(#aliases)* }
    }
}

impl Binding {
    /// The value as part of an identifier: `half::f16` becomes `f16`, `[f32; 4]` becomes `f32_4`, `-1` becomes `m1`.
    fn name(&self) -> String {
        let text = source_text(&self.value);
        let mut name = String::new();
        // A path contributes its last segment only.
        for word in text.replace("- ", "m").split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            let word = word.rsplit(':').next().unwrap_or_default();
            if !word.is_empty() {
                if !name.is_empty() {
                    name.push('_');
                }
                name.push_str(word);
            }
        }
        name
    }
}

/// The type of the value of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Shape,
    Number,
    Architectures,
    Name,
    Nothing,
}

/// The keys: name, type of the value, and an example.
const KEYS: [(&str, Takes, &str); 11] = [
    ("block", Takes::Shape, "block = 256` or `block = (16, 16)"),
    ("max_threads", Takes::Number, "max_threads = 256"),
    ("min_blocks", Takes::Number, "min_blocks = 2"),
    ("max_registers", Takes::Number, "max_registers = 64"),
    ("cluster", Takes::Shape, "cluster = 2` or `cluster = (2, 2)"),
    ("dynamic_shared", Takes::Number, "dynamic_shared = 4096"),
    (ARCH, Takes::Architectures, "arch = \"sm_90a\"` or `arch = [\"sm_90a\", \"sm_80\"]"),
    ("cooperative", Takes::Nothing, "cooperative"),
    ("dependent", Takes::Nothing, "dependent"),
    ("fast_math", Takes::Nothing, "fast_math"),
    (NAME, Takes::Name, "name = \"scale_rows\""),
];

/// The key of the architectures.
const ARCH: &str = "arch";

/// The key of the name in the PTX.
const NAME: &str = "name";

/// Other systems' names of the keys, and options that belong to a launch.
const OTHER_NAMES: [(&str, &str); 23] = [
    ("architecture", "arch"),
    ("block_dim", "block"),
    ("block_size", "block"),
    ("blocks", "min_blocks"),
    ("cluster_dim", "cluster"),
    ("cluster_dims", "cluster"),
    ("compute_capability", "arch"),
    ("entry", NAME),
    ("export_name", NAME),
    ("fastmath", "fast_math"),
    ("gencode", "arch"),
    ("launch_bounds", "max_threads"),
    ("max_block", "max_threads"),
    ("max_threads_per_block", "max_threads"),
    ("maxnreg", "max_registers"),
    ("maxntid", "max_threads"),
    ("min_blocks_per_sm", "min_blocks"),
    ("minnctapersm", "min_blocks"),
    ("registers", "max_registers"),
    ("reqntid", "block"),
    ("shared", "dynamic_shared"),
    ("shared_mem", "dynamic_shared"),
    ("threads", "block"),
];

/// Reads the arguments of a kernel with this signature.
pub(crate) fn parse(arguments: TokenStream, signature: &Signature) -> syn::Result<Arguments> {
    let generics = &signature.generics;
    let clauses = (|input: ParseStream<'_>| {
        let mut clauses = Vec::new();
        while !input.is_empty() {
            clauses.push(clause(input, generics)?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(clauses)
    })
    .parse2(arguments)?;
    let mut problems = Problems::default();
    let (mut contract, mut lists) = (Vec::new(), Vec::new());
    let mut architectures = Vec::new();
    let mut name = None;
    for clause in clauses {
        match clause {
            Clause::Contract(key, value) => contract.push((key, value)),
            Clause::List(list) => lists.push(list),
            Clause::Architectures(key, _) if !architectures.is_empty() => {
                problems.add(&key, "`arch` is stated twice; put all architectures into one list");
            }
            Clause::Architectures(_, stated) => architectures = stated,
            Clause::Name(key, _) if name.is_some() => problems.add(&key, "`name` is stated twice"),
            Clause::Name(_, stated) => name = Some(stated),
        }
    }
    conflicts(&contract, &mut problems);
    let instances = instances(signature, lists, &mut problems);
    problems.result()?;
    let clauses = contract.len();
    contract.retain(|(key, _)| key != "fast_math");
    Ok(Arguments { fast_math: contract.len() < clauses, architectures, name, contract, instances })
}

/// One argument.
enum Clause {
    Architectures(Ident, Vec<LitStr>),
    Name(Ident, LitStr),
    Contract(Ident, TokenStream),
    List(List),
}

/// Values for one parameter, or for several together: `T = [f32, f64]`, `(T, N) = [(f32, 4), (f64, 8)]`.
struct List {
    /// The parameters' names, where the list is.
    names: Vec<Ident>,
    parameters: Vec<GenericParam>,
    rows: Vec<Vec<TokenStream>>,
}

fn clause(input: ParseStream<'_>, generics: &Generics) -> syn::Result<Clause> {
    if input.peek(token::Paren) {
        let content;
        let _ = parenthesized!(content in input);
        let names = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
        let parameters = names
            .iter()
            .map(|name| parameter(name, generics).ok_or_else(|| no_such_parameter(name, generics)))
            .collect::<syn::Result<Vec<_>>>()?;
        return list(input, names.into_iter().collect(), parameters).map(Clause::List);
    }
    let positional = |error: Error| {
        let value = match generics.params.iter().find_map(ident) {
            Some(name) => format!("what a kernel is compiled for is named: `#[kernel({name} = [f32, f64])]`"),
            None => format!("an argument of `#[kernel]` is named, as in `#[kernel(block = 256)]`; {}", known()),
        };
        Error::new(error.span(), value)
    };
    let key: Ident = input.parse().map_err(positional)?;
    if let Some(parameter) = parameter(&key, generics) {
        return list(input, vec![key], vec![parameter]).map(Clause::List);
    }
    let Some((_, takes, example)) = KEYS.iter().find(|(name, ..)| key == name) else {
        return Err(unknown(&key, input, generics, positional));
    };
    let value = match takes {
        Takes::Nothing if input.peek(Token![=]) => {
            return Err(Error::new_spanned(&key, format!("`{key}` has no value; write `{key}` or leave it out")));
        }
        Takes::Nothing => return Ok(Clause::Contract(key, TokenStream::new())),
        Takes::Shape | Takes::Number | Takes::Architectures | Takes::Name if !input.peek(Token![=]) => {
            return Err(Error::new_spanned(&key, format!("`{key}` needs a value: write `{example}`")));
        }
        Takes::Shape => {
            input.parse::<Token![=]>()?;
            shape(&key, example, input.parse()?)?
        }
        Takes::Number => {
            input.parse::<Token![=]>()?;
            number(&key, example, &input.parse()?)?
        }
        Takes::Architectures => {
            input.parse::<Token![=]>()?;
            let stated = architectures(example, input.parse()?)?;
            return Ok(Clause::Architectures(key, stated));
        }
        Takes::Name => {
            input.parse::<Token![=]>()?;
            let stated = entry_name(example, &input.parse()?)?;
            return Ok(Clause::Name(key, stated));
        }
    };
    Ok(Clause::Contract(key, value))
}

/// The error for a name that is no key.
fn unknown(key: &Ident, input: ParseStream<'_>, generics: &Generics, positional: impl Fn(Error) -> Error) -> Error {
    let text = key.to_string();
    let error = |message: String| Error::new_spanned(key, message);
    if let Some((_, name)) = OTHER_NAMES.iter().find(|(other, _)| text == *other) {
        let example = KEYS.iter().find(|(key, ..)| key == name).map_or("", |(.., example)| example);
        return error(format!("there is no `{key}`; write `{example}`"));
    }
    if text == "grid" || text == "stream" {
        return error(format!(
            "the {key} is chosen at the launch, not by the kernel: `module.launch((blocks, threads), ..)`"
        ));
    }
    if !input.peek(Token![=]) {
        return positional(Error::new_spanned(key, ""));
    }
    if input.peek2(token::Bracket) {
        return no_such_parameter(key, generics);
    }
    error(format!("`#[kernel]` has no argument `{key}`; {}", known()))
}

fn no_such_parameter(name: &Ident, generics: &Generics) -> Error {
    let known: Vec<String> = generics.params.iter().filter_map(ident).map(|name| format!("`{name}`")).collect();
    let advice =
        if known.is_empty() { format!("write `fn name<{name}>(..)`") } else { format!("it has {}", known.join(", ")) };
    Error::new_spanned(name, format!("the kernel has no type or const parameter `{name}`; {advice}"))
}

/// All keys, for messages.
fn known() -> String {
    let keys = KEYS.map(|(name, ..)| format!("`{name}`"));
    format!("there are {}", keys.join(", "))
}

/// `256` or `(16, 16)`, as the array that `cuda_std::Contract` takes.
fn shape(key: &Ident, example: &str, value: Expr) -> syn::Result<TokenStream> {
    let lengths: Vec<Expr> = match value {
        Expr::Tuple(tuple) => {
            if !(1..=3).contains(&tuple.elems.len()) {
                return Err(Error::new_spanned(tuple, format!("`{key}` has 1 to 3 dimensions: write `{example}`")));
            }
            tuple.elems.into_iter().collect()
        }
        Expr::Array(array) => {
            return Err(Error::new_spanned(array, format!("`{key}` is a number or a tuple: write `{example}`")));
        }
        length => vec![length],
    };
    let mut numbers = lengths.iter().map(|length| number(key, example, length)).collect::<syn::Result<Vec<_>>>()?;
    let place = numbers.iter().fold(TokenStream::new(), |all, number| quote! { #all #number }).span();
    numbers.resize(3, quote! { 1 });
    Ok(quote_spanned! { place => [#(#numbers),*] })
}

/// A number of any integer type, as `cuda_std::Contract` takes it.
fn number(key: &Ident, example: &str, value: &Expr) -> syn::Result<TokenStream> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) if literal.suffix().is_empty() => Ok(quote! { #literal }),
        Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) => Ok(quote_spanned! { value.span() => (#value as u128) }),
        Expr::Lit(literal) => {
            Err(Error::new_spanned(literal, format!("`{key}` takes a whole number: write `{example}`")))
        }
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => {
            Err(Error::new_spanned(unary, format!("`{key}` cannot be negative: write `{example}`")))
        }
        _ => Ok(quote_spanned! { value.span() => ((#value) as u128) }),
    }
}

/// Parses `"sm_90a"` or `["sm_90a", "sm_80"]`. The builder checks that the architectures exist.
fn architectures(example: &str, value: Expr) -> syn::Result<Vec<LitStr>> {
    let place = value.span();
    let elements: Vec<Expr> = match value {
        Expr::Array(array) => array.elems.into_iter().collect(),
        one => vec![one],
    };
    if elements.is_empty() {
        return Err(Error::new(
            place,
            "a kernel that is compiled for no architecture is none; leave `arch` out to have it compiled as the others are",
        ));
    }
    let mut stated: Vec<LitStr> = Vec::new();
    for element in elements {
        let name = match element {
            Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) => name,
            other => {
                return Err(Error::new_spanned(
                    other,
                    format!("`arch` takes names of architectures: write `{example}`"),
                ));
            }
        };
        if !is_architecture(&name.value()) {
            let digits: String = name.value().chars().skip_while(|c| !c.is_ascii_digit()).collect();
            let meant = Some(format!("sm_{digits}")).filter(|meant| is_architecture(meant));
            let advice = meant.map_or_else(|| example.to_owned(), |meant| format!("arch = \"{meant}\""));
            let message = format!("`{}` is not the name of an architecture: write `{advice}`", name.value());
            return Err(Error::new(name.span(), message));
        }
        if stated.iter().any(|known| known.value() == name.value()) {
            return Err(Error::new(name.span(), format!("`{}` is in the list twice", name.value())));
        }
        stated.push(name);
    }
    Ok(stated)
}

/// A name in the PTX.
fn entry_name(example: &str, value: &Expr) -> syn::Result<LitStr> {
    let Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) = value else {
        return Err(Error::new_spanned(value, format!("`name` takes a name in quotes: write `{example}`")));
    };
    match syn::parse_str::<Ident>(&name.value()) {
        Ok(ident) if name.value().is_ascii() => {
            symbols::check(&Ident::new(&ident.to_string(), name.span()))?;
            Ok(name.clone())
        }
        _ => Err(Error::new_spanned(
            name,
            format!(
                "a kernel's name in the PTX has letters, digits and `_`, and begins with no digit: write `{example}`"
            ),
        )),
    }
}

/// Whether a text is spelled like an architecture: `sm_90`, `sm_90a` or `sm_100f`.
fn is_architecture(text: &str) -> bool {
    let digits = text.strip_prefix("sm_").map(|short| short.strip_suffix(['a', 'f']).unwrap_or(short));
    digits.is_some_and(|digits| (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reports duplicate keys, and keys that contradict each other.
fn conflicts(contract: &[(Ident, TokenStream)], problems: &mut Problems) {
    let find = |name: &str| contract.iter().map(|(key, _)| key).find(|key| *key == name);
    for (index, (key, _)) in contract.iter().enumerate() {
        if contract[..index].iter().any(|(earlier, _)| earlier == key) {
            problems.add(key, format!("`{key}` is stated twice; keep one"));
        }
    }
    if let (Some(_), Some(key)) = (find("block"), find("max_threads")) {
        problems.add(
            key,
            "`block` says how many threads there are, so `max_threads` has nothing to say; keep `block` for blocks of \
             one shape, `max_threads` for blocks of any",
        );
    }
    if let (Some(_), Some(key)) = (find("min_blocks"), find("max_registers")) {
        problems.add(key, "`min_blocks` and `max_registers` both limit the registers of a thread; keep one");
    }
    if let (Some(key), None, None) = (find("min_blocks"), find("block"), find("max_threads")) {
        problems
            .add(key, "how many blocks fit depends on their size: state `block` or `max_threads` beside `min_blocks`");
    }
}

/// `= [f32, f64]`
fn list(input: ParseStream<'_>, names: Vec<Ident>, parameters: Vec<GenericParam>) -> syn::Result<List> {
    let text = names.iter().map(Ident::to_string).collect::<Vec<_>>().join(", ");
    let example = match &*names {
        [name] => match parameters[0] {
            GenericParam::Const(_) => format!("{name} = [4, 8]"),
            _ => format!("{name} = [f32, f64]"),
        },
        _ => format!("({text}) = [(f32, ..), (f64, ..)]"),
    };
    let expected = |span| Error::new(span, format!("what the kernel is compiled for is a list: write `{example}`"));
    input.parse::<Token![=]>().map_err(|error| expected(error.span()))?;
    if !input.peek(token::Bracket) {
        return Err(expected(input.span()));
    }
    let content;
    let bracket = bracketed!(content in input);
    let mut rows: Vec<Vec<TokenStream>> = Vec::new();
    while !content.is_empty() {
        let row = match &*parameters {
            [parameter] => vec![value(&content, parameter)?],
            _ => {
                if !content.peek(token::Paren) {
                    return Err(expected(content.span()));
                }
                let tuple;
                let parenthesis = parenthesized!(tuple in content);
                let mut row = Vec::new();
                for parameter in &parameters {
                    if tuple.is_empty() {
                        break;
                    }
                    row.push(value(&tuple, parameter)?);
                    tuple.parse::<Option<Token![,]>>()?;
                }
                if row.len() < parameters.len() || !tuple.is_empty() {
                    let message = format!("there is one value for each of {text}: write `{example}`");
                    return Err(Error::new(parenthesis.span.join(), message));
                }
                row
            }
        };
        let words = |row: &[TokenStream]| row.iter().map(ToString::to_string).collect::<Vec<_>>();
        if rows.iter().any(|known| words(known) == words(&row)) {
            let row = quote! { #(#row),* };
            return Err(Error::new_spanned(&row, format!("`{}` is in the list twice", source_text(&row))));
        }
        rows.push(row);
        if !content.is_empty() {
            content.parse::<Token![,]>()?;
        }
    }
    if rows.is_empty() {
        return Err(Error::new(bracket.span.join(), format!("an empty list makes no kernel: write `{example}`")));
    }
    Ok(List { names, parameters, rows })
}

/// A value for a parameter.
fn value(input: ParseStream<'_>, parameter: &GenericParam) -> syn::Result<TokenStream> {
    Ok(match parameter {
        GenericParam::Const(_) => Expr::parse(input)?.into_token_stream(),
        GenericParam::Type(_) | GenericParam::Lifetime(_) => Type::parse(input)?.into_token_stream(),
    })
}

/// The name of a type or const parameter.
fn ident(parameter: &GenericParam) -> Option<&Ident> {
    match parameter {
        GenericParam::Type(parameter) => Some(&parameter.ident),
        GenericParam::Const(parameter) => Some(&parameter.ident),
        GenericParam::Lifetime(_) => None,
    }
}

fn parameter(name: &Ident, generics: &Generics) -> Option<GenericParam> {
    generics.params.iter().find(|known| ident(known) == Some(name)).cloned()
}

/// Every combination of the lists.
fn instances(signature: &Signature, lists: Vec<List>, problems: &mut Problems) -> Vec<Instance> {
    let Signature { ident: kernel, generics, .. } = signature;
    let mut listed = HashSet::new();
    for name in lists.iter().flat_map(|list| &list.names) {
        if !listed.insert(name.clone()) {
            problems.add(name, format!("`{name}` has a list already; put all values into one"));
        }
    }
    for name in generics.params.iter().filter_map(ident) {
        if !listed.contains(name) {
            problems.add(
                name,
                format!(
                    "a kernel is compiled once for each type, and nothing says which: list them in \
                     `#[kernel({name} = [..])]`, and launch it as `{kernel}::<..>(..)`"
                ),
            );
        }
    }
    let mut rows = vec![Vec::new()];
    for List { parameters, rows: values, .. } in lists {
        rows = rows
            .iter()
            .flat_map(|row: &Vec<Binding>| {
                values.iter().map(|values| {
                    let bindings = parameters
                        .iter()
                        .zip(values)
                        .map(|(parameter, value)| Binding { parameter: parameter.clone(), value: value.clone() });
                    row.iter().cloned().chain(bindings).collect()
                })
            })
            .collect();
    }
    let order = |binding: &Binding| generics.params.iter().position(|own| ident(own) == ident(&binding.parameter));
    let mut known = HashSet::new();
    let mut instances = Vec::new();
    for mut bindings in rows {
        bindings.sort_by_key(order);
        let name: Vec<String> = bindings.iter().map(Binding::name).collect();
        if !known.insert(name.join("_"))
            && let Some(binding) = bindings.last()
        {
            problems.add(
                &binding.value,
                format!(
                    "two kernels would have the PTX entry `{kernel}_{}`; give one of the types another name with `use .. as ..`",
                    name.join("_")
                ),
            );
        }
        instances.push(Instance { bindings });
    }
    instances
}
