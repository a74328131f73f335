//! Scalar floating point as the GPU does it: canonical NaN, flushing, saturation, directed rounding, minimum, maximum.
//!
//! Everything here is free of branches, so that loops over it vectorise, and none of it touches the processor's
//! rounding mode: a directed rounding is computed from an exact or round-to-odd intermediate in `f64`. That works
//! because an `f64` has more than twice the precision of an `f32` plus two bits (Boldo and Melquiond, "Emulation of a
//! FMA and Correctly-Rounded Sums: Proved Algorithms Using Rounding to Odd"). Rounding of `f64` results is in `soft`.

use crate::arith::primitive::IS_INVALID_OF_PROCESSOR;
use crate::arith::scalar::{Float, Integer, Rounding, Scalar};
use crate::arith::{Arith, Bool, F32, F64, U32, U64, V, native, select};

/// The NaN that `f32` instructions produce.
pub const NAN_F32: f32 = f32::from_bits(crate::base::ir::NAN_F32);

/// A scale for factors: the product of two scaled factors is normal if their own product is about to become subnormal,
/// and overflows only if that is far from it.
pub const SCALE: f32 = 4_294_967_296.0;

/// The sign bit of an `f32`.
const SIGN: u32 = 0x8000_0000;

/// Rounding, `.ftz`, `.sat` and `.relu` in the bits of an operation's `extra`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode(pub u16);

impl Mode {
    /// Bit of `.ftz`.
    pub const FTZ: u16 = 4;
    /// Bit of `.sat`.
    pub const SAT: u16 = 8;
    /// Bit of `.relu`.
    pub const RELU: u16 = 16;

    /// A mode with a rounding only.
    pub const fn rounding(rounding: Rounding) -> Self {
        Self(rounding as u16)
    }

    /// The rounding.
    #[inline(always)]
    pub const fn get_rounding(self) -> Rounding {
        Rounding::ALL[(self.0 & 3) as usize]
    }

    /// Whether the rounding is to nearest.
    #[inline(always)]
    pub const fn is_nearest(self) -> bool {
        self.is(Rounding::Nearest)
    }

    /// Whether this is the rounding.
    #[inline(always)]
    pub const fn is(self, rounding: Rounding) -> bool {
        self.0 & 3 == rounding as u16
    }

    /// Whether a bit is set.
    #[inline(always)]
    pub const fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    /// An `f32` operand: flushed if the mode says so.
    #[inline(always)]
    pub fn input<A: Arith>(self, x: F32<A>) -> F32<A> {
        select(self.has(Self::FTZ), flush(x), x)
    }

    /// An `f32` result: canonical NaN, flushed and saturated as the mode says.
    ///
    /// This is for operations that give subnormal results exactly, such as sums; for the others see [`Self::flushed`].
    #[inline(always)]
    pub fn output<A: Arith>(self, x: F32<A>) -> F32<A> {
        let x = self.input(x);
        select(self.has(Self::SAT), saturate(x), x.canonical())
    }

    /// An `f32` result, given the same result times [`SCALE`]².
    ///
    /// The hardware flushes what would be below the normal numbers if exponents had no limit. A number just below them
    /// is rounded up to the smallest normal number because subnormal numbers are coarse; only the scaled result, which
    /// is normal, tells it apart.
    #[inline(always)]
    pub fn flushed<A: Arith>(self, x: F32<A>, scaled: F32<A>) -> F32<A> {
        let sign = F32::from_bits(x.to_bits() & SIGN);
        let tiny = Bool::from(self.has(Self::FTZ)) & scaled.abs().lt(f32::MIN_POSITIVE * SCALE * SCALE);
        let x = select(tiny, sign, x);
        select(self.has(Self::SAT), saturate(x), x.canonical())
    }

    /// An `f32` result from an exact or round-to-odd value.
    #[inline(always)]
    pub fn narrow<A: Arith>(self, x: F64<A>) -> F32<A> {
        self.flushed(self.round(x), self.round(x * f64::from(SCALE * SCALE)))
    }

    /// Rounds an exact or round-to-odd value as the mode says.
    #[inline(always)]
    pub fn round<A: Arith>(self, x: F64<A>) -> F32<A> {
        let near = x.narrow();
        let wide = near.widen();
        let above = Bool::from(self.is(Rounding::Down)) & wide.gt(x);
        let below = Bool::from(self.is(Rounding::Up)) & wide.lt(x);
        let beyond = Bool::from(self.is(Rounding::Zero)) & wide.abs().gt(x.abs());
        // One step of the magnitude goes down for a positive number and up for a negative one.
        let negative = near.to_bits().reinterpret::<i32>().lt(0);
        let down = select(negative, 1, u32::MAX);
        let up = select(negative, u32::MAX, 1);
        let step = select(self.is(Rounding::Up), up, down);
        let step = select(self.is(Rounding::Zero), u32::MAX, step);
        F32::from_bits(near.to_bits() + select(above | below | beyond, step, 0))
    }

    /// The sign of an exact zero sum: positive if the signs differ, but negative when rounding down.
    ///
    /// A `sum` other than zero is returned unchanged.
    #[inline(always)]
    pub fn zero_sum<A: Arith>(self, sum: F32<A>, a: F64<A>, b: F64<A>) -> F32<A> {
        let negative = ((a.to_bits() | b.to_bits()) >> 32).cast::<u32>() & SIGN;
        let fix = Bool::from(self.is(Rounding::Down)) & sum.eq(0.0) & a.eq(-b);
        F32::from_bits(sum.to_bits() | select(fix, negative, 0))
    }

    /// `a + b` for values that are exact in `f64` and within the range of products of `f32`.
    #[inline(always)]
    pub fn sum<A: Arith>(self, a: F64<A>, b: F64<A>) -> F32<A> {
        let odd = sum_to_odd(a, b);
        let sum = self.zero_sum(self.round(odd), a, b);
        self.flushed(sum, self.round(odd * f64::from(SCALE * SCALE)))
    }
}

/// Whether the bits are those of a NaN. A selection between NaNs needs this test: LLVM takes a NaN for as good as another.
#[inline(always)]
pub fn is_nan_by_bits<A: Arith, T: Float>(bits: V<A, T::Bits>) -> Bool<A> {
    (bits & T::MAGNITUDE).gt(T::INFINITY)
}

/// `r`, the result of an operation on `a` and `b`; but if an operand is NaN, that NaN made quiet, `b` first.
///
/// Results in `f64` keep the NaN that they come from; that this is the second operand was found on an H200, and that it is the first
/// one of a division.
#[inline(always)]
pub fn propagate<A: Arith>(r: F64<A>, a: F64<A>, b: F64<A>) -> F64<A> {
    let r = if IS_INVALID_OF_PROCESSOR { r } else { r.invalid() };
    keep(keep(r, a), b)
}

/// As [`propagate`], for operations that LLVM computes at compile time with a NaN of its own: quotients and roots.
#[inline(always)]
pub fn propagate_invalid<A: Arith>(r: F64<A>, a: F64<A>, b: F64<A>) -> F64<A> {
    keep(keep(r.invalid(), a), b)
}

/// As [`propagate`], of Rust's numbers.
pub fn double_result(r: f64, a: f64, b: f64) -> f64 {
    propagate(native(r), native(a), native(b)).0
}

/// `r`, but if the operand `x` is NaN, that NaN made quiet.
#[inline(always)]
pub fn keep<A: Arith>(r: F64<A>, x: F64<A>) -> F64<A> {
    const QUIET: u64 = 1 << 51;
    let bits: U64<A> = x.to_bits();
    F64::from_bits(select(is_nan_by_bits::<A, f64>(bits), bits | QUIET, r.to_bits()))
}

/// `x`, or a zero of its sign if it is subnormal.
#[inline(always)]
pub fn flush<A: Arith>(x: F32<A>) -> F32<A> {
    let bits: U32<A> = x.to_bits();
    F32::from_bits(select((bits & 0x7f80_0000).eq(0), bits & SIGN, bits))
}

/// `x` clamped to 0..=1; +0 for NaN and -0.
#[inline(always)]
pub fn saturate<A: Arith, T: Float>(x: V<A, T>) -> V<A, T> {
    // AArch64 has a maximum that compilers make of a comparison with zero, which is NaN if `x` is a NaN that signals.
    let is_positive =
        if IS_INVALID_OF_PROCESSOR { x.gt(T::ZERO) } else { (x.to_bits() - T::Bits::from_word(1)).lt(T::INFINITY) };
    let x = select(is_positive, x, T::ZERO);
    select(x.lt(T::ONE), x, T::ONE)
}

/// `a + b` rounded to odd: if inexact, the neighbour whose last bit is one.
///
/// The sum must not overflow.
#[inline(always)]
pub fn sum_to_odd<A: Arith>(a: F64<A>, b: F64<A>) -> F64<A> {
    let sum = a + b;
    let other = sum - a;
    let error = (a - (sum - other)) + (b - other);
    let inexact = error.gt(0.0) | error.lt(0.0);
    let differs = error.gt(0.0) ^ sum.gt(0.0);
    let even = (sum.to_bits() & 1).eq(0);
    let step = select(differs, u64::MAX, 1);
    F64::from_bits(sum.to_bits() + select(inexact & even, step, 0))
}

/// An `f64` as `f32` rounded to odd, for a further rounding to at most 22 bits.
#[inline(always)]
pub fn to_odd_f32<A: Arith>(x: F64<A>) -> F32<A> {
    let near = x.narrow();
    let wide = near.widen();
    let inexact = wide.lt(x) | wide.gt(x);
    let step = select(wide.abs().lt(x.abs()), 1, u32::MAX);
    let even = (near.to_bits() & 1).eq(0);
    F32::from_bits(near.to_bits() + select(inexact & even, step, 0))
}

/// Whether the minimum or the maximum is wanted, and what becomes of NaN.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Extremum {
    /// The maximum instead of the minimum.
    pub max: bool,
    /// NaN if any operand is NaN, instead of the other operand.
    pub nan: bool,
}

/// The formats that have a minimum and a maximum.
pub trait Ordered: Scalar {
    /// The unsigned integer of the same width.
    type Word: Integer;
    /// The bits of the format's canonical NaN.
    const NAN: Self::Word;
    /// The sign bit.
    const SIGN: Self::Word;

    /// `a < b`
    fn less<A: Arith>(a: V<A, Self>, b: V<A, Self>) -> Bool<A>;

    /// Whether a number is NaN.
    fn is_nan<A: Arith>(x: V<A, Self>) -> Bool<A>;

    /// The bits of the result for two NaN operands, the second of which is `b`.
    #[inline(always)]
    fn both_nan<A: Arith>(b: V<A, Self>) -> V<A, Self::Word> {
        let _ = b;
        Self::NAN.into()
    }
}

impl Ordered for f32 {
    type Word = u32;
    const NAN: u32 = NAN_F32.to_bits();
    const SIGN: u32 = SIGN;

    #[inline(always)]
    fn less<A: Arith>(a: F32<A>, b: F32<A>) -> Bool<A> {
        a.lt(b)
    }

    #[inline(always)]
    fn is_nan<A: Arith>(x: F32<A>) -> Bool<A> {
        x.is_nan()
    }
}

impl Ordered for f64 {
    type Word = u64;
    const NAN: u64 = 0x7fff_ffff_ffff_ffff;
    const SIGN: u64 = 1 << 63;

    #[inline(always)]
    fn less<A: Arith>(a: F64<A>, b: F64<A>) -> Bool<A> {
        a.lt(b)
    }

    #[inline(always)]
    fn is_nan<A: Arith>(x: F64<A>) -> Bool<A> {
        x.is_nan()
    }

    #[inline(always)]
    fn both_nan<A: Arith>(b: F64<A>) -> U64<A> {
        keep(b, b).to_bits()
    }
}

/// The smaller or the larger of two; -0 is smaller than +0.
#[inline(always)]
pub fn extremum<A: Arith, T: Ordered>(which: Extremum, a: V<A, T>, b: V<A, T>) -> V<A, T> {
    let (a_bits, b_bits) = (a.reinterpret::<T::Word>(), b.reinterpret::<T::Word>());
    let (low, high) = if which.max { (b_bits, a_bits) } else { (a_bits, b_bits) };
    // If neither is smaller they are equal, and differ in the sign of zero at most.
    let equal = if which.max { a_bits & b_bits } else { a_bits | b_bits };
    let result = select(T::less(a, b), low, select(T::less(b, a), high, equal));
    let nan = V::from(T::NAN);
    let (lone_a, lone_b) = (select(which.nan, nan, a_bits), select(which.nan, nan, b_bits));
    let (a_nan, b_nan) = (T::is_nan(a), T::is_nan(b));
    let result = select(b_nan, lone_a, result);
    let result = select(a_nan, lone_b, result);
    select(a_nan & b_nan, T::both_nan(b), result).reinterpret()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::soft::Format;
    use crate::arith::{native, soft};

    /// Numbers around every edge of `f32`, and some in between.
    fn numbers() -> Vec<f32> {
        let edges = [
            0,
            1,
            2,
            0x7f_ffff,
            0x80_0000,
            0x80_0001,
            0x100_0000,
            0x3f7f_ffff,
            0x3f80_0000,
            0x3f80_0001,
            0x4b80_0000,
            0x7e80_0001,
            0x7f7f_fffe,
            0x7f7f_ffff,
            0x7f80_0000,
            0x1357_9bdf,
            0x2468_ace0,
            0x3faa_aaab,
            0x5f12_3457,
        ];
        edges.into_iter().flat_map(|bits: u32| [f32::from_bits(bits), -f32::from_bits(bits)]).collect()
    }

    #[track_caller]
    fn same(name: &str, result: f32, expected: f64) {
        let expected = if expected.is_nan() { NAN_F32 } else { expected as f32 };
        assert_eq!(result.to_bits(), expected.to_bits(), "{name}: {result:e} instead of {expected:e}");
    }

    #[test]
    fn directed_results_are_those_by_integers() {
        for rounding in Rounding::ALL {
            let mode = Mode::rounding(rounding);
            for a in numbers().into_iter().map(f64::from) {
                same("sqrt", mode.narrow(native(a.sqrt())).0, soft::sqrt(a, rounding, Format::F32));
                for b in numbers().into_iter().map(f64::from) {
                    let name = format!("{a:e} {b:e} {rounding:?}");
                    same(&name, mode.sum(native(a), native(b)).0, soft::add(a, b, rounding, Format::F32));
                    same(&name, mode.narrow(native(a * b)).0, soft::mul(a, b, rounding, Format::F32));
                    same(&name, mode.narrow(native(a / b)).0, soft::div(a, b, rounding, Format::F32));
                    for c in numbers().into_iter().map(f64::from) {
                        same(&name, mode.sum(native(a * b), native(c)).0, soft::fma(a, b, c, rounding, Format::F32));
                    }
                }
            }
        }
    }

    #[test]
    fn the_integer_way_agrees_with_the_processor() {
        let nearest = Rounding::Nearest;
        for a in numbers() {
            for b in numbers() {
                let (x, y) = (f64::from(a) * 1.000_000_1, f64::from(b) / 3.0);
                for (ours, theirs) in [
                    (soft::add(x, y, nearest, Format::F64), x + y),
                    (soft::mul(x, y, nearest, Format::F64), x * y),
                    (soft::div(x, y, nearest, Format::F64), x / y),
                    (soft::fma(x, y, 1.0, nearest, Format::F64), x.mul_add(y, 1.0)),
                    (soft::sqrt(x, nearest, Format::F64), x.sqrt()),
                    (soft::add(a.into(), b.into(), nearest, Format::F32), f64::from(a + b)),
                ] {
                    assert!(ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()), "{x:e} {y:e}");
                }
            }
        }
    }
}
