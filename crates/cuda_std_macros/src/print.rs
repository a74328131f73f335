//! `print!` and `println!` in kernels: the format string is taken apart here.
//!
//! The result is a list of pieces and the arguments; `cuda_std::io` joins them to a C format string
//! in a constant, once the types of the arguments are known. On the host the standard library
//! prints.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, LitStr, Token};

/// The arguments of `print!`: a format string, then values, some of them named.
struct Input {
    format: LitStr,
    values: Vec<(Option<Ident>, Expr)>,
}

impl Parse for Input {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            let format = LitStr::new("", Span::call_site());
            return Ok(Self { format, values: Vec::new() });
        }
        let format = input.parse().map_err(|error| {
            Error::new(
                error.span(),
                "a kernel prints by a format string that is written here: `println!(\"x = {}\", x)`",
            )
        })?;
        let mut values = Vec::new();
        if input.parse::<Option<Token![,]>>()?.is_some() {
            let list = Punctuated::<Value, Token![,]>::parse_terminated(input)?;
            values.extend(list.into_iter().map(|Value(name, value)| (name, value)));
        }
        Ok(Self { format, values })
    }
}

struct Value(Option<Ident>, Expr);

impl Parse for Value {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let named = input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]);
        let name = if named {
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            Some(name)
        } else {
            None
        };
        Ok(Self(name, input.parse()?))
    }
}

/// A part of a format string.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A placeholder: which value, C flags with width and precision, and the format letter.
    Value {
        of: Of,
        flags: String,
        letter: Option<char>,
    },
}

/// The value that a placeholder refers to.
#[derive(Debug, PartialEq, Eq)]
enum Of {
    Next,
    Position(usize),
    Name(String),
}

/// Takes a Rust format string apart.
fn pieces(format: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = format.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '{' if rest.next_if_eq(&'{').is_some() => text.push('{'),
            '}' if rest.next_if_eq(&'}').is_some() => text.push('}'),
            '{' => {
                let placeholder: String = rest.by_ref().take_while(|&c| c != '}').collect();
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(placeholder_piece(&placeholder)?);
            }
            '}' => return Err("a lone `}`; write `}}` for a brace".to_owned()),
            '\0' => return Err("a NUL character would end the text".to_owned()),
            _ => text.push(character),
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// Reads what is between the braces: `[name or position][:[0][width][.precision][letter]]`.
fn placeholder_piece(placeholder: &str) -> Result<Piece, String> {
    let (of, spec) = placeholder.split_once(':').unwrap_or((placeholder, ""));
    let of = match of.trim() {
        "" => Of::Next,
        name => name.parse().map_or_else(|_| Of::Name(name.to_owned()), Of::Position),
    };
    let unsupported = || {
        format!(
            "`{{{placeholder}}}` cannot be printed from a kernel; after the colon it takes `+`, `<`, `0`, a width, \
             `.precision`, and one of `?`, `x`, `X`, `e`"
        )
    };
    let mut flags = String::new();
    let mut rest = spec.trim().chars().peekable();
    for (rust, c) in [('<', "-"), ('>', ""), ('+', "+"), ('#', "#"), ('0', "0")] {
        if rest.next_if_eq(&rust).is_some() {
            flags.push_str(c);
        }
    }
    while let Some(digit) = rest.next_if(|&c| c.is_ascii_digit() || c == '.') {
        flags.push(digit);
    }
    let letter = match rest.next() {
        None | Some('?') => None,
        Some(letter @ ('x' | 'X' | 'e')) => Some(letter),
        Some(_) => return Err(unsupported()),
    };
    if rest.next().is_some() || (flags.contains('#') && letter.is_none()) {
        return Err(unsupported());
    }
    Ok(Piece::Value { of, flags, letter })
}

pub(crate) fn expand(input: TokenStream, line_end: bool) -> syn::Result<TokenStream> {
    let original = input.clone();
    let Input { format, mut values } = syn::parse2(input)?;
    let mut text = format.value();
    if line_end {
        text.push('\n');
    }
    let pieces = pieces(&text).map_err(|message| Error::new(format.span(), message))?;
    let written = values.len();
    let mut used = vec![false; written];
    let mut next = 0;
    let mut parts = Vec::new();
    // C prints its arguments in order, so a value that is printed twice is passed twice.
    let mut order = Vec::new();
    for piece in pieces {
        let (of, flags, letter) = match piece {
            Piece::Text(text) => {
                parts.push(quote! { ::cuda_std::io::Piece::Text(#text) });
                continue;
            }
            Piece::Value { of, flags, letter } => (of, flags, letter),
        };
        let missing = |what: String| Error::new(format.span(), what);
        let index = match of {
            Of::Next => {
                next += 1;
                next - 1
            }
            Of::Position(position) => position,
            Of::Name(name) => {
                let position = values.iter().position(|(own, _)| own.as_ref().is_some_and(|own| *own == name));
                match position {
                    Some(position) => position,
                    None => {
                        let ident: Ident = syn::parse_str(&name).map_err(|_| {
                            missing(format!("`{name}` is no name; pass the value after the format string"))
                        })?;
                        let ident = Ident::new(&ident.to_string(), format.span());
                        values.push((Some(ident.clone()), syn::parse_quote!(#ident)));
                        used.push(true);
                        values.len() - 1
                    }
                }
            }
        };
        if index >= values.len() || (index >= written && values[index].0.is_none()) {
            return Err(missing(format!("the format string wants value {index}, but there are {written}")));
        }
        used[index] = true;
        order.push(index);
        let letter = match letter {
            Some(letter) => quote! { ::core::option::Option::Some(#letter) },
            None => quote! { ::core::option::Option::None },
        };
        parts.push(quote! { ::cuda_std::io::Piece::Value { flags: #flags, letter: #letter } });
    }
    if let Some(unused) = used.iter().position(|used| !used) {
        return Err(Error::new_spanned(
            &values[unused].1,
            "this value is not printed; add a `{}` to the format string",
        ));
    }
    let expressions = values.iter().map(|(_, value)| value);
    let names: Vec<Ident> =
        (0..values.len()).map(|index| format_ident!("value{index}", span = Span::mixed_site())).collect();
    let generics: Vec<Ident> =
        (0..order.len()).map(|index| format_ident!("T{index}", span = Span::mixed_site())).collect();
    let fields: Vec<Ident> =
        (0..order.len()).map(|index| format_ident!("field{index}", span = Span::mixed_site())).collect();
    let printed = order.iter().map(|&index| &names[index]);
    let std_macro = if line_end { quote!(println) } else { quote!(print) };
    // On the host the values must be printable in a kernel too, but only the standard library looks
    // at them.
    Ok(quote! {{
        #[cfg(not(target_arch = "nvptx64"))]
        ::cuda_std::io::__std::#std_macro!(#original);
        if cfg!(target_arch = "nvptx64") {
            struct Format;
            // SAFETY: flags are of the syntax above, and there is a value for each.
            unsafe impl ::cuda_std::io::Pieces for Format {
                const PIECES: &'static [::cuda_std::io::Piece] = &[#(#parts),*];
            }
            #[repr(C)]
            struct Values<#(#generics: ::cuda_std::io::Print),*>(#(#generics::Word),*);
            impl<#(#generics: ::cuda_std::io::Print),*> Values<#(#generics),*> {
                #[inline(always)]
                #[allow(clippy::too_many_arguments)]
                fn new(#(#fields: &#generics),*) -> Self {
                    Self(#(::cuda_std::io::Print::word(#fields)),*)
                }
            }
            // SAFETY: the words lie one after the other, as C's variable arguments do.
            unsafe impl<#(#generics: ::cuda_std::io::Print),*> ::cuda_std::io::Values for Values<#(#generics),*> {
                const CONVERSIONS: &'static [::cuda_std::io::Conversion] =
                    &[#(<#generics as ::cuda_std::io::Print>::CONVERSION),*];
            }
            match (#(&(#expressions),)*) {
                // SAFETY: the pieces are of these values.
                (#(#names,)*) => unsafe { ::cuda_std::io::emit(Format, Values::new(#(#printed),*)) },
            }
        }
    }})
}

#[cfg(test)]
mod tests {
    use super::{Of, Piece, pieces};

    fn value(flags: &str, letter: Option<char>) -> Piece {
        Piece::Value { of: Of::Next, flags: flags.to_owned(), letter }
    }

    #[test]
    fn format_strings_come_apart() {
        let text = |text: &str| Piece::Text(text.to_owned());
        assert_eq!(pieces("a {{}} b"), Ok(vec![text("a {} b")]));
        assert_eq!(pieces("{}, {:?}"), Ok(vec![value("", None), text(", "), value("", None)]));
        assert_eq!(pieces("{:08.3}|"), Ok(vec![value("08.3", None), text("|")]));
        assert_eq!(pieces("{:#06x}"), Ok(vec![value("#06", Some('x'))]));
        assert_eq!(
            pieces("{x:<4}{1}"),
            Ok(vec![
                Piece::Value { of: Of::Name("x".to_owned()), flags: "-4".to_owned(), letter: None },
                Piece::Value { of: Of::Position(1), flags: String::new(), letter: None },
            ])
        );
    }

    #[test]
    fn what_c_cannot_print_is_refused() {
        for format in ["{:^8}", "{:b}", "{:#?}", "}", "{:x?}", "\0"] {
            assert!(pieces(format).is_err(), "{format}");
        }
    }
}
