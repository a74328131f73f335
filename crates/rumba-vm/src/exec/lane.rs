//! How values live in the lanes of a register slot.
//!
//! A lane holds raw bits, a `u32` or a `u64`; values narrower than that lie zero-extended in their lane, so that a
//! register may be read as any type of its width or narrower. Nothing here computes.

use crate::arith::Scalar;
pub use crate::arith::{Bf16, F16};
use crate::base::ir::Element;
pub use crate::exec::processor::Raw;

/// A type of value that a lane can hold.
pub trait Lane: Scalar {
    /// The lane's bits.
    type Raw: Raw;

    /// The value in a lane; bits above the type's width do not count.
    fn from_raw(raw: Self::Raw) -> Self;

    /// The lane of a value; bits above the type's width are zero.
    fn into_raw(self) -> Self::Raw;
}

macro_rules! lane {
    ($($ty:ty: $raw:ty, $from:expr, $into:expr;)*) => {$(
        impl Lane for $ty {
            type Raw = $raw;

            #[inline(always)]
            fn from_raw(raw: $raw) -> Self {
                let from: fn($raw) -> $ty = $from;
                from(raw)
            }

            #[inline(always)]
            fn into_raw(self) -> $raw {
                let into: fn($ty) -> $raw = $into;
                into(self)
            }
        }
    )*};
}

lane! {
    u8: u32, |raw| raw as u8, u32::from;
    i8: u32, |raw| raw as i8, |value| u32::from(value as u8);
    u16: u32, |raw| raw as u16, u32::from;
    i16: u32, |raw| raw as i16, |value| u32::from(value as u16);
    u32: u32, |raw| raw, |value| value;
    i32: u32, |raw| raw as i32, |value| value as u32;
    u64: u64, |raw| raw, |value| value;
    i64: u64, |raw| raw as i64, |value| value as u64;
    f32: u32, f32::from_bits, f32::to_bits;
    f64: u64, f64::from_bits, f64::to_bits;
    F16: u32, |raw| F16(raw as u16), |value| u32::from(value.0);
    Bf16: u32, |raw| Bf16(raw as u16), |value| u32::from(value.0);
}

/// Two 16-bit values that share a register, the first in the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<T>(pub T, pub T);

impl<T: Lane<Raw = u32>> Scalar for Pair<T> {
    const ELEMENT: Element = Element::I32;

    fn to_word(self) -> u64 {
        self.into_raw().into()
    }

    fn from_word(word: u64) -> Self {
        Self::from_raw(word as u32)
    }
}

impl<T: Lane<Raw = u32>> Lane for Pair<T> {
    type Raw = u32;

    #[inline(always)]
    fn from_raw(raw: u32) -> Self {
        Self(T::from_raw(raw & 0xffff), T::from_raw(raw >> 16))
    }

    #[inline(always)]
    fn into_raw(self) -> u32 {
        self.0.into_raw() | (self.1.into_raw() << 16)
    }
}

impl<T: Copy> Pair<T> {
    /// Both halves with those of `other` through `f`.
    #[inline(always)]
    pub fn zip<U: Copy, V>(self, other: Pair<U>, f: impl Fn(T, U) -> V) -> Pair<V> {
        Pair(f(self.0, other.0), f(self.1, other.1))
    }
}
