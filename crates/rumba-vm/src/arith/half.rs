//! The 16-bit formats: `f16` (IEEE binary16) and `bf16` (the upper half of an `f32`), as storage with conversions.
//!
//! Arithmetic happens in `f32` or `f64` and is rounded once. The conversions are free of branches, so that loops over
//! them vectorise on any processor; a library that looks for F16C at each call would not.

use crate::arith::float::{Mode, Ordered, to_odd_f32};
use crate::arith::scalar::{Bf16, F16, Rounding};
use crate::arith::{Arith, Bool, F32, F64, U32, V, native, select};

/// A 16-bit floating point format.
pub trait Half: Ordered<Word = u16> {
    /// The bits of one.
    const ONE: u16;

    /// The bits of infinity.
    const INFINITY: u16;

    /// Bits of the significand, the hidden one included.
    const PRECISION: u32;

    /// The smallest positive quiet NaN.
    const QUIET: u16;

    /// The smallest normal number as `f32`.
    const MIN_POSITIVE: f32;

    /// The same number as `f32`, given the bits.
    fn widened<A: Arith>(bits: U32<A>) -> F32<A>;

    /// The bits of a number rounded to nearest, ties to even; NaN becomes canonical.
    fn nearest_bits<A: Arith>(x: F32<A>) -> U32<A>;
}

impl<A: Arith, T: Half> V<A, T> {
    /// The bits of a half.
    #[inline(always)]
    pub fn bits(self) -> V<A, u16> {
        self.reinterpret()
    }

    /// The half as `f32`.
    #[inline(always)]
    pub fn single(self) -> F32<A> {
        T::widened(self.bits().cast())
    }

    /// A half as operand: a zero of its sign instead of a subnormal if the mode flushes.
    #[inline(always)]
    pub fn input(self, mode: Mode) -> F32<A> {
        let x = self.single();
        let sign = F32::from_bits(x.to_bits() & 0x8000_0000);
        select(Bool::from(mode.has(Mode::FTZ)) & x.abs().lt(T::MIN_POSITIVE), sign, x)
    }

    /// A half as operand, without a conversion: a zero of its sign instead of a subnormal if the mode flushes.
    #[inline(always)]
    pub fn flushed(self, mode: Mode) -> V<A, u16> {
        let subnormal = Bool::from(mode.has(Mode::FTZ)) & self.single().abs().lt(T::MIN_POSITIVE);
        self.bits() & select(subnormal, 0x8000, 0xffff)
    }

    /// A half as result, saturated and rectified as the mode says.
    #[inline(always)]
    pub fn finish(self, mode: Mode) -> Self {
        let wide = self.single();
        let zero = V::from(0_u16);
        let saturated = select(wide.gt(0.0), select(wide.lt(1.0), self.bits(), T::ONE), zero);
        let r = select(mode.has(Mode::SAT), saturated, self.bits());
        let rectified = select(wide.le(0.0), zero, r);
        select(mode.has(Mode::RELU), rectified, r).reinterpret()
    }
}

/// A number rounded to nearest, ties to even; NaN becomes canonical.
#[inline(always)]
pub fn nearest<A: Arith, T: Half>(x: F32<A>) -> V<A, T> {
    T::nearest_bits(x).cast::<u16>().reinterpret()
}

/// A number rounded as the mode says; NaN becomes canonical.
#[inline(always)]
pub fn round<A: Arith, T: Half>(mode: Mode, x: F32<A>) -> V<A, T> {
    let near: V<A, T> = nearest(x);
    let (far, exact) = (near.single().abs(), x.abs());
    let negative = x.to_bits().reinterpret::<i32>().lt(0);
    let is = |rounding| Bool::<A>::from(mode.is(rounding));
    let outwards = (is(Rounding::Up) & !negative) | (is(Rounding::Down) & negative);
    let inwards = !is(Rounding::Nearest) & !outwards;
    let more = (outwards & far.lt(exact)).to_integer();
    let less = (inwards & far.gt(exact)).to_integer();
    (near.bits() + more - less).reinterpret()
}

/// A result: rounded to nearest, flushed, saturated and rectified as the mode says.
#[inline(always)]
pub fn output<A: Arith, T: Half>(mode: Mode, x: F32<A>) -> V<A, T> {
    // As in `f32`, a number is flushed if it would be subnormal were its exponent not limited.
    let scaled = nearest::<A, T>(x * 4096.0).single().abs();
    let flushed = Bool::from(mode.has(Mode::FTZ)) & scaled.lt(T::MIN_POSITIVE * 4096.0);
    let r = nearest::<A, T>(x).bits();
    select(flushed, r & 0x8000, r).reinterpret::<T>().finish(mode)
}

/// A result from an exact or round-to-odd value.
#[inline(always)]
pub fn output_f64<A: Arith, T: Half>(mode: Mode, x: F64<A>) -> V<A, T> {
    output(mode, to_odd_f32(x))
}

impl Half for F16 {
    const ONE: u16 = 0x3c00;
    const INFINITY: u16 = 0x7c00;
    const PRECISION: u32 = 11;
    const QUIET: u16 = 0x7e00;
    const MIN_POSITIVE: f32 = 6.103_515_6e-5;

    #[inline(always)]
    fn widened<A: Arith>(bits: U32<A>) -> F32<A> {
        let magnitude = (bits & 0x7fff) << 13;
        // The multiplication moves the exponent's bias and makes subnormals normal; it is exact.
        let finite = F32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
        let special = magnitude | 0x7f80_0000;
        let x = select(magnitude.ge(0x7c00 << 13), special, finite.to_bits());
        F32::from_bits(x | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn nearest_bits<A: Arith>(x: F32<A>) -> U32<A> {
        let bits: U32<A> = x.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        // Adding one half aligns a subnormal's last place with that of the sum, which rounds it.
        let subnormal = (F32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000;
        let normal = (magnitude + 0xc800_0fff + (magnitude >> 13 & 1)) >> 13;
        let result = select(magnitude.lt(0x3880_0000), subnormal, normal);
        let result = select(magnitude.ge(0x477f_f000), 0x7c00, result) | (bits >> 16 & 0x8000);
        select(magnitude.gt(0x7f80_0000), 0x7fff, result)
    }
}

impl Half for Bf16 {
    const ONE: u16 = 0x3f80;
    const INFINITY: u16 = 0x7f80;
    const PRECISION: u32 = 8;
    const QUIET: u16 = 0x7fc0;
    const MIN_POSITIVE: f32 = f32::MIN_POSITIVE;

    #[inline(always)]
    fn widened<A: Arith>(bits: U32<A>) -> F32<A> {
        F32::from_bits(bits << 16)
    }

    #[inline(always)]
    fn nearest_bits<A: Arith>(x: F32<A>) -> U32<A> {
        let bits: U32<A> = x.to_bits();
        let rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        select((bits & 0x7fff_ffff).gt(0x7f80_0000), 0x7fff, rounded)
    }
}

macro_rules! numbers {
    ($($half:ty)*) => {$(
        impl $half {
            /// The same number as `f32`.
            #[inline(always)]
            pub fn to_f32(self) -> f32 {
                native(self).single().0
            }

            /// The number rounded to nearest, ties to even; NaN becomes canonical.
            #[inline(always)]
            pub fn nearest(x: f32) -> Self {
                nearest(native(x)).0
            }
        }
    )*};
}

numbers!(F16 Bf16);

macro_rules! ordered {
    ($($half:ty)*) => {$(
        impl Ordered for $half {
            type Word = u16;
            const NAN: u16 = 0x7fff;
            const SIGN: u16 = 0x8000;

            #[inline(always)]
            fn less<A: Arith>(a: V<A, Self>, b: V<A, Self>) -> Bool<A> {
                a.single().lt(b.single())
            }

            #[inline(always)]
            fn is_nan<A: Arith>(x: V<A, Self>) -> Bool<A> {
                x.single().is_nan()
            }
        }
    )*};
}

ordered!(F16 Bf16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::native;
    use crate::arith::soft::{Format, add};

    /// Compares a format with another implementation of it, and its roundings with those by integers.
    fn agrees<T: Half + std::fmt::Debug + PartialEq>(format: Format, widen: impl Fn(u16) -> f32) {
        for bits in 0..=u16::MAX {
            let half = native(T::from_word(bits.into()));
            if T::is_nan(half).0 {
                assert!(widen(bits).is_nan() && nearest::<_, T>(half.single()).bits().0 == T::NAN);
                continue;
            }
            assert_eq!(half.single().0.to_bits(), widen(bits).to_bits());
            assert_eq!(nearest::<_, T>(half.single()).0, half.0);
        }
        for bits in (0..=u32::MAX).step_by(10_007) {
            let x = f32::from_bits(bits);
            for rounding in Rounding::ALL {
                let rounded = round::<_, T>(Mode::rounding(rounding), native(x)).single().0;
                // Adding a zero of the same sign only rounds.
                let expected = add(x.into(), 0.0_f64.copysign(x.into()), rounding, format);
                assert!(
                    f64::from(rounded).to_bits() == expected.to_bits() || (rounded.is_nan() && x.is_nan()),
                    "{x:e} {rounding:?}: {rounded:e} instead of {expected:e}"
                );
            }
        }
    }

    #[test]
    fn conversions() {
        agrees::<F16>(Format::F16, |bits| half::f16::from_bits(bits).to_f32());
        agrees::<Bf16>(Format::BF16, |bits| half::bf16::from_bits(bits).to_f32());
    }
}
