//! Printing from a kernel: `print!` and `println!`.
//!
//! ```
//! # use cuda_std::prelude::*;
//! # fn kernel(x: f32) {
//! let i = grid::<1>().get();
//! cuda_std::println!("thread {i}: x = {x:8.3}");
//! # }
//! ```
//!
//! The format string is translated to C's while compiling; the driver does the rest, through
//! `vprintf`. It prints integers, floating-point numbers, `bool` and `char`, by `{}`, `{:?}`,
//! `{:x}`, `{:X}` or `{:e}`, with sign, width, zeros in front and precision. A floating-point number
//! without a precision has six decimals, which is C's `%f` and not what Rust prints: `{:e}` prints small and large
//! numbers, `{:.9}` more decimals. The text comes out when the host next waits for the
//! device, at most a megabyte of it, and lines of different threads in no fixed order.

use core::marker::PhantomData;

#[doc(inline)]
pub use cuda_std_macros::{print, println};

/// For the macros: the kernel's crate need not have the standard library.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub mod __std {
    pub use std::{print, println};
}

/// A part of a format string. For the macros.
#[derive(Clone, Copy, Debug)]
pub enum Piece {
    /// Literal text.
    Text(&'static str),
    /// The next value.
    Value {
        /// C flags, width and precision.
        flags: &'static str,
        /// The letter that was asked for.
        letter: Option<char>,
    },
}

/// How C prints a type.
#[derive(Clone, Copy, Debug)]
pub struct Conversion {
    /// The length modifier: `"ll"` for 64 bits.
    length: &'static str,
    /// The letter where none was asked for.
    letter: u8,
    /// Whether the letters for floating-point numbers fit, rather than those for integers.
    float: bool,
}

mod sealed {
    /// `CONVERSION` is how C prints a `Word`.
    pub trait Print {}
}

/// A type that a kernel can print: numbers, `bool` and `char`.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot print `{Self}`",
    note = "it prints numbers, `bool` and `char`; print the parts of anything else one by one"
)]
pub trait Print: sealed::Print + Copy {
    /// The type that C passes for it.
    type Word: Copy;
    /// How C prints it.
    const CONVERSION: Conversion;
    /// The value as C passes it.
    fn word(&self) -> Self::Word;
}

/// Values of one `print!`, in C's layout. For the macros.
///
/// # Safety
///
/// The memory of the type is the words of the values one after the other, each at a multiple of its size, and the conversions
/// are theirs.
pub unsafe trait Values: Sized {
    /// How each is printed.
    const CONVERSIONS: &'static [Conversion];
}

/// A format string as a type. For the macros.
///
/// # Safety
///
/// Flags are signs, zeros, width and precision: nothing that C takes for another value.
pub unsafe trait Pieces {
    /// Its parts.
    const PIECES: &'static [Piece];
}

macro_rules! print {
    ($($ty:ident as $word:ident: $length:literal $letter:literal;)*) => {$(
        impl sealed::Print for $ty {}
        impl Print for $ty {
            type Word = $word;
            const CONVERSION: Conversion =
                Conversion { length: $length, letter: $letter, float: $letter == b'f' };
            #[inline(always)]
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "C's promotions, as a table")]
            fn word(&self) -> $word {
                *self as $word
            }
        }
    )*};
}

print! {
    i8 as i32: "" b'd';
    i16 as i32: "" b'd';
    i32 as i32: "" b'd';
    i64 as i64: "ll" b'd';
    isize as i64: "ll" b'd';
    u8 as u32: "" b'u';
    u16 as u32: "" b'u';
    u32 as u32: "" b'u';
    u64 as u64: "ll" b'u';
    usize as u64: "ll" b'u';
    f32 as f64: "" b'f';
    f64 as f64: "" b'f';
    char as u32: "" b'c';
}

impl sealed::Print for bool {}
impl Print for bool {
    type Word = *const u8;
    const CONVERSION: Conversion = Conversion { length: "", letter: b's', float: false };
    #[inline(always)]
    fn word(&self) -> *const u8 {
        if *self { c"true".to_bytes().as_ptr() } else { c"false".to_bytes().as_ptr() }
    }
}

/// A format string of C, made while compiling.
struct Text {
    bytes: [u8; Self::CAPACITY],
    length: usize,
}

impl Text {
    const CAPACITY: usize = 512;

    const fn push(&mut self, byte: u8) {
        assert!(self.length < Self::CAPACITY - 1, "the format string of a kernel's print is too long");
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    const fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            self.push(bytes[index]);
            index += 1;
        }
    }

    /// Joins a format string and its values.
    const fn new(pieces: &[Piece], conversions: &[Conversion]) -> Self {
        let mut text = Self { bytes: [0; Self::CAPACITY], length: 0 };
        let (mut piece, mut value) = (0, 0);
        while piece < pieces.len() {
            match pieces[piece] {
                Piece::Text(plain) => {
                    let bytes = plain.as_bytes();
                    let mut index = 0;
                    while index < bytes.len() {
                        if bytes[index] == b'%' {
                            text.push(b'%');
                        }
                        text.push(bytes[index]);
                        index += 1;
                    }
                }
                Piece::Value { flags, letter } => {
                    let conversion = conversions[value];
                    value += 1;
                    text.push(b'%');
                    text.text(flags);
                    text.text(conversion.length);
                    text.push(match (letter, conversion.float, conversion.letter) {
                        (None, _, own) => own,
                        (Some('x'), false, b'd' | b'u') => b'x',
                        (Some('X'), false, b'd' | b'u') => b'X',
                        (Some('e'), true, _) => b'e',
                        _ => panic!("`x` and `X` print integers, `e` prints floating-point numbers"),
                    });
                }
            }
            piece += 1;
        }
        text
    }
}

/// A format string, joined to the conversions of its values.
struct Joined<P, V>(PhantomData<(P, V)>);

impl<P: Pieces, V: Values> Joined<P, V> {
    const TEXT: &'static Text = &Text::new(P::PIECES, V::CONVERSIONS);
}

/// Prints. For the macros; on the host, where the standard library prints, it only checks the
/// format string.
///
/// # Safety
///
/// The format has one conversion for each value.
#[inline(always)]
pub unsafe fn emit<P: Pieces, V: Values>(_: P, values: V) {
    let format = Joined::<P, V>::TEXT.bytes.as_ptr();
    #[cfg(target_arch = "nvptx64")]
    {
        use core::ffi::c_void;
        unsafe extern "C" {
            /// The driver's; declared as CUDA's headers do.
            fn vprintf(format: *const c_void, values: *const c_void) -> i32;
        }
        // SAFETY: the format ends in a NUL, and asks for the values in their order and types, say the traits.
        unsafe { vprintf(format.cast(), (&raw const values).cast()) };
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = (format, values);
}

#[cfg(test)]
mod tests {
    use super::{Piece, Print, Text};

    #[test]
    fn formats_become_c() {
        let value = |flags, letter| Piece::Value { flags, letter };
        let pieces = [
            Piece::Text("100% "),
            value("", None),
            value("08.3", None),
            value("#06", Some('x')),
            value("", Some('e')),
            value("", None),
        ];
        let text =
            Text::new(&pieces, &[i64::CONVERSION, f32::CONVERSION, u8::CONVERSION, f64::CONVERSION, bool::CONVERSION]);
        assert_eq!(&text.bytes[..text.length], b"100%% %lld%08.3f%#06x%e%s");
        assert_eq!(text.bytes[text.length], 0);
    }
}
