//! The 16-bit formats: `f16` (IEEE binary16) and `bf16` (the upper half of an `f32`), as storage with conversions.
//!
//! Arithmetic happens in `f32` or `f64` and is rounded once. The conversions are free of branches, so that loops over
//! them vectorise on any processor; a library that looks for F16C at each call would not.

use crate::exec::lane::{Bf16, F16};
use std::hint::select_unpredictable as select;

use crate::isa::float::{Mode, Ordered, Rounding, to_odd_f32};

/// A 16-bit floating point format.
pub trait Half: Ordered + crate::exec::lane::Lane<Raw = u32> {
    /// One.
    const ONE: Self;

    /// Bits of the significand, the hidden one included.
    const PRECISION: u32;

    /// The smallest positive quiet NaN.
    const QUIET: u16;

    /// The smallest normal number as `f32`.
    const MIN_POSITIVE: f32;

    /// From its bits.
    fn from_bits(bits: u16) -> Self;

    /// Its bits.
    fn to_bits(self) -> u16;

    /// The same number as `f32`.
    fn widen(self) -> f32;

    /// Rounded to nearest, ties to even; NaN becomes canonical.
    fn nearest(x: f32) -> Self;

    /// Rounded as the mode says; NaN becomes canonical.
    #[inline(always)]
    fn round(mode: Mode, x: f32) -> Self {
        let near = Self::nearest(x);
        let (far, exact) = (near.widen().abs(), x.abs());
        let negative = x.is_sign_negative();
        let is = |rounding| mode.0 & 3 == rounding as u16;
        let outwards = (is(Rounding::Up) & !negative) | (is(Rounding::Down) & negative);
        let inwards = !is(Rounding::Nearest) & !outwards;
        let more = u16::from(outwards & (far < exact));
        let less = u16::from(inwards & (far > exact));
        Self::from_bits(near.to_bits().wrapping_add(more).wrapping_sub(less))
    }

    /// An operand: a zero of its sign instead of a subnormal if the mode flushes.
    #[inline(always)]
    fn input(self, mode: Mode) -> f32 {
        let x = self.widen();
        let sign = f32::from_bits(x.to_bits() & 0x8000_0000);
        select((mode.0 & Mode::FTZ != 0) & (x.abs() < Self::MIN_POSITIVE), sign, x)
    }

    /// A result: rounded to nearest, flushed, saturated and rectified as the mode says.
    #[inline(always)]
    fn output(mode: Mode, x: f32) -> Self {
        // As in `f32`, a number is flushed if it would be subnormal were its exponent not limited.
        let scaled = Self::nearest(x * 4096.0).widen().abs();
        let flushed = (mode.0 & Mode::FTZ != 0) & (scaled < Self::MIN_POSITIVE * 4096.0);
        let r = Self::nearest(x);
        let sign = Self::from_bits(r.to_bits() & 0x8000);
        select(flushed, sign, r).finish(mode)
    }

    /// A result, saturated and rectified as the mode says.
    #[inline(always)]
    fn finish(self, mode: Mode) -> Self {
        let r = self;
        let wide = r.widen();
        let zero = Self::from_bits(0);
        let saturated = select(wide > 0.0, select(wide < 1.0, r, Self::ONE), zero);
        let r = select(mode.0 & Mode::SAT != 0, saturated, r);
        let rectified = select((wide < 0.0) | (wide == 0.0), zero, r);
        let rectified = select(wide > 0.0, r, rectified);
        select(mode.0 & Mode::RELU != 0, rectified, r)
    }

    /// A result from an exact or round-to-odd value.
    #[inline(always)]
    fn output_f64(mode: Mode, x: f64) -> Self {
        Self::output(mode, to_odd_f32(x))
    }
}

impl Half for F16 {
    const ONE: Self = Self(0x3c00);
    const PRECISION: u32 = 11;
    const QUIET: u16 = 0x7e00;
    const MIN_POSITIVE: f32 = 6.103_515_6e-5;

    #[inline(always)]
    fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u16 {
        self.0
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }

    #[inline(always)]
    fn nearest(x: f32) -> Self {
        let bits = x.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        // Adding one half aligns a subnormal's last place with that of the sum, which rounds it.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(magnitude >> 13 & 1) >> 13;
        let result = select(magnitude < 0x3880_0000, subnormal, normal);
        let result = select(magnitude >= 0x477f_f000, 0x7c00, result) | (bits >> 16 & 0x8000);
        Self(select(magnitude > 0x7f80_0000, 0x7fff, result) as u16)
    }
}

impl Half for Bf16 {
    const ONE: Self = Self(0x3f80);
    const PRECISION: u32 = 8;
    const QUIET: u16 = 0x7fc0;
    const MIN_POSITIVE: f32 = f32::MIN_POSITIVE;

    #[inline(always)]
    fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u16 {
        self.0
    }

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    #[inline(always)]
    fn nearest(x: f32) -> Self {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff).wrapping_add(bits >> 16 & 1) >> 16;
        Self(select(x.is_nan(), 0x7fff, rounded) as u16)
    }
}

macro_rules! ordered {
    ($($half:ty)*) => {$(
        impl Ordered for $half {
            const NAN: Self = Self(0x7fff);

            #[inline(always)]
            fn less(a: Self, b: Self) -> bool {
                a.widen() < b.widen()
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.widen().is_nan()
            }

            #[inline(always)]
            fn combine(a: Self, b: Self, or: bool) -> Self {
                Self(select(or, a.0 | b.0, a.0 & b.0))
            }
        }
    )*};
}

ordered!(F16 Bf16);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::soft::{Format, add};

    /// Compares a format with another implementation of it, and its roundings with those by integers.
    fn agrees<T: Half + std::fmt::Debug + PartialEq>(format: Format, widen: impl Fn(u16) -> f32) {
        for bits in 0..=u16::MAX {
            let half = T::from_bits(bits);
            if half.is_nan() {
                assert!(widen(bits).is_nan() && T::nearest(half.widen()) == T::NAN);
                continue;
            }
            assert_eq!(half.widen().to_bits(), widen(bits).to_bits());
            assert_eq!(T::nearest(half.widen()), half);
        }
        for bits in (0..=u32::MAX).step_by(10_007) {
            let x = f32::from_bits(bits);
            for rounding in Rounding::ALL {
                let rounded = T::round(Mode::rounding(rounding), x).widen();
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
