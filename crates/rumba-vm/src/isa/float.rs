//! Scalar floating point as the GPU does it: canonical NaN, flushing, saturation, directed rounding, minimum, maximum.
//!
//! Everything here is free of branches, so that loops over it vectorise, and none of it touches the processor's
//! rounding mode: a directed rounding is computed from an exact or round-to-odd intermediate in `f64`. That works
//! because an `f64` has more than twice the precision of an `f32` plus two bits (Boldo and Melquiond, "Emulation of a
//! FMA and Correctly-Rounded Sums: Proved Algorithms Using Rounding to Odd"). Rounding of `f64` results is in `soft`.

use std::hint::select_unpredictable as select;

pub use crate::exec::lane::{Bf16, F16};

/// The NaN that `f32` instructions produce.
pub const NAN_F32: f32 = f32::from_bits(0x7fff_ffff);

/// A scale for factors: the product of two scaled factors is normal if their own product is about to become subnormal,
/// and overflows only if that is far from it.
pub const SCALE: f32 = 4_294_967_296.0;

/// How a result is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

impl Rounding {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Nearest, Self::Zero, Self::Down, Self::Up];

    /// The rounding that a modifier names; to nearest if there is none.
    ///
    /// Accepts `.rn`, `.rz`, `.rm`, `.rp` and the integer roundings `.rni`, `.rzi`, `.rmi`, `.rpi`.
    pub fn from_modifier(modifier: Option<&str>) -> Self {
        match modifier {
            Some(".rz" | ".rzi") => Self::Zero,
            Some(".rm" | ".rmi") => Self::Down,
            Some(".rp" | ".rpi") => Self::Up,
            _ => Self::Nearest,
        }
    }
}

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

    /// The mode that the modifiers of an instruction ask for: placeholder `rnd`, literals `.ftz`, `.sat`, `.relu`.
    pub fn of(matched: &crate::lower::notation::Matched<'_>) -> Self {
        let bit = |literal, bit| if matched.has(literal) { bit } else { 0 };
        Self(
            Rounding::from_modifier(matched.get("rnd")) as u16
                | bit(".ftz", Self::FTZ)
                | bit(".sat", Self::SAT)
                | bit(".relu", Self::RELU),
        )
    }

    /// The rounding.
    #[inline(always)]
    pub const fn get_rounding(self) -> Rounding {
        Rounding::ALL[(self.0 & 3) as usize]
    }

    /// Whether the rounding is to nearest.
    #[inline(always)]
    pub const fn is_nearest(self) -> bool {
        self.0 & 3 == Rounding::Nearest as u16
    }

    #[inline(always)]
    const fn is(self, rounding: Rounding) -> bool {
        self.0 & 3 == rounding as u16
    }

    #[inline(always)]
    const fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    /// An `f32` operand: flushed if the mode says so.
    #[inline(always)]
    pub fn input(self, x: f32) -> f32 {
        select(self.has(Self::FTZ), flush(x), x)
    }

    /// An `f32` result: canonical NaN, flushed and saturated as the mode says.
    ///
    /// This is for operations that give subnormal results exactly, such as sums; for the others see [`Self::flushed`].
    #[inline(always)]
    pub fn output(self, x: f32) -> f32 {
        let x = select(self.has(Self::FTZ), flush(x), x);
        select(self.has(Self::SAT), saturate(x), canonical(x))
    }

    /// An `f32` result, given the same result times [`SCALE`]².
    ///
    /// The hardware flushes what would be below the normal numbers if exponents had no limit. A number just below them
    /// is rounded up to the smallest normal number because subnormal numbers are coarse; only the scaled result, which
    /// is normal, tells it apart.
    #[inline(always)]
    pub fn flushed(self, x: f32, scaled: f32) -> f32 {
        let sign = f32::from_bits(x.to_bits() & 0x8000_0000);
        let tiny = self.has(Self::FTZ) & (scaled.abs() < f32::MIN_POSITIVE * SCALE * SCALE);
        let x = select(tiny, sign, x);
        select(self.has(Self::SAT), saturate(x), canonical(x))
    }

    /// An `f32` result from an exact or round-to-odd value.
    #[inline(always)]
    pub fn narrow(self, x: f64) -> f32 {
        self.flushed(self.round(x), self.round(x * f64::from(SCALE * SCALE)))
    }

    /// Rounds an exact or round-to-odd value as the mode says.
    #[inline(always)]
    pub fn round(self, x: f64) -> f32 {
        let near = x as f32;
        let wide = f64::from(near);
        let above = self.is(Rounding::Down) & (wide > x);
        let below = self.is(Rounding::Up) & (wide < x);
        let beyond = self.is(Rounding::Zero) & (wide.abs() > x.abs());
        // One step of the magnitude goes down for a positive number and up for a negative one.
        let down = select(near.to_bits() >> 31 != 0, 1, u32::MAX);
        let step = select(self.is(Rounding::Up), down.wrapping_neg(), down);
        let step = select(self.is(Rounding::Zero), u32::MAX, step);
        f32::from_bits(near.to_bits().wrapping_add(select(above | below | beyond, step, 0)))
    }

    /// The sign of an exact zero sum: positive if the signs differ, but negative when rounding down.
    ///
    /// A `sum` other than zero is returned unchanged.
    #[inline(always)]
    pub fn zero_sum(self, sum: f32, a: f64, b: f64) -> f32 {
        let negative = (a.to_bits() | b.to_bits()) >> 32 & 0x8000_0000;
        let fix = self.is(Rounding::Down) & (sum == 0.0) & (a == -b);
        f32::from_bits(sum.to_bits() | select(fix, negative as u32, 0))
    }

    /// `a + b` for values that are exact in `f64` and within the range of products of `f32`.
    #[inline(always)]
    pub fn sum(self, a: f64, b: f64) -> f32 {
        let odd = sum_to_odd(a, b);
        let sum = self.zero_sum(self.round(odd), a, b);
        self.flushed(sum, self.round(odd * f64::from(SCALE * SCALE)))
    }
}

/// Chooses between handlers by mode, so that those of frequent modes know their mode at compile time.
///
/// `by_mode!(mode, M => nearest, D => directed)`: in `nearest`, `M` is the mode, which rounds to nearest; in `directed`,
/// `D` is the mode if nothing but a rounding is asked for, and otherwise `None`: then the operation's `extra` tells.
/// `by_mode!(mode, M => nearest)`: there is no directed rounding.
macro_rules! by_mode {
    ($mode:expr, $constant:ident => $nearest:expr, $directed_mode:ident => $directed:expr) => {{
        macro_rules! directed {
            ($constant_mode:expr) => {{
                const $directed_mode: Option<$crate::isa::float::Mode> = $constant_mode;
                $directed
            }};
        }
        match $mode.0 {
            1 => directed!(Some($crate::isa::float::Mode(1))),
            2 => directed!(Some($crate::isa::float::Mode(2))),
            3 => directed!(Some($crate::isa::float::Mode(3))),
            bits if bits & 3 != 0 => directed!(None),
            _ => $crate::isa::float::by_mode!($mode, $constant => $nearest),
        }
    }};
    ($mode:expr, $constant:ident => $nearest:expr) => {{
        macro_rules! nearest {
            ($bits:expr) => {{
                const $constant: $crate::isa::float::Mode = $crate::isa::float::Mode($bits);
                $nearest
            }};
        }
        match $mode.0 {
            0 => nearest!(0),
            4 => nearest!(4),
            8 => nearest!(8),
            _ => nearest!(12),
        }
    }};
}
pub(crate) use by_mode;

/// `x`, or the canonical NaN.
///
/// The comparison is one of integers because the compiler takes one NaN for as good as another: it removes a selection
/// between a NaN and the result of a square root that is NaN.
#[inline(always)]
pub fn canonical(x: f32) -> f32 {
    let nan = x.to_bits() & 0x7fff_ffff > 0x7f80_0000;
    f32::from_bits(select(nan, NAN_F32.to_bits(), x.to_bits()))
}

/// Whether the bits are those of an `f64` NaN.
#[inline(always)]
fn is_nan_f64(bits: u64) -> bool {
    bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000
}

/// The NaN of an operation in `f64` on numbers that has no result, as `0 / 0`.
pub const INVALID_F64: u64 = 0xfff8 << 48;

/// Whether the processor's result is [`INVALID_F64`]; on AArch64 the NaN has the other sign.
pub const IS_INVALID_OF_PROCESSOR: bool = cfg!(target_arch = "x86_64");

/// `r`, the result of an operation on `a` and `b`; but if an operand is NaN, that NaN made quiet, `b` first.
///
/// Results in `f64` keep the NaN that they come from; that this is the second operand was found on an H200, and that it is the first
/// one of a division.
#[inline(always)]
pub fn propagate(r: f64, a: f64, b: f64) -> f64 {
    let r = r.to_bits();
    let is_invalid = !IS_INVALID_OF_PROCESSOR && is_nan_f64(r);
    keep(keep(f64::from_bits(select(is_invalid, INVALID_F64, r)), a), b)
}

/// `r`, but if the operand `x` is NaN, that NaN made quiet.
#[inline(always)]
pub fn keep(r: f64, x: f64) -> f64 {
    const QUIET: u64 = 1 << 51;
    let (r, x) = (r.to_bits(), x.to_bits());
    f64::from_bits(select(is_nan_f64(x), x | QUIET, r))
}

/// `x`, or a zero of its sign if it is subnormal.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    let sign = f32::from_bits(x.to_bits() & 0x8000_0000);
    select(x.abs() < f32::MIN_POSITIVE, sign, x)
}

/// `x` clamped to 0..=1; +0 for NaN and -0.
#[inline(always)]
pub fn saturate(x: f32) -> f32 {
    // AArch64 has a maximum that compilers make of a comparison with zero, which is NaN if `x` is a NaN that signals.
    let is_positive = match IS_INVALID_OF_PROCESSOR {
        true => x > 0.0,
        false => x.to_bits().wrapping_sub(1) < f32::INFINITY.to_bits(),
    };
    let x = select(is_positive, x, 0.0);
    select(x < 1.0, x, 1.0)
}

/// `x` clamped to 0..=1; +0 for NaN and -0.
#[inline(always)]
pub fn saturate_f64(x: f64) -> f64 {
    // As above.
    let is_positive = match IS_INVALID_OF_PROCESSOR {
        true => x > 0.0,
        false => x.to_bits().wrapping_sub(1) < f64::INFINITY.to_bits(),
    };
    let x = select(is_positive, x, 0.0);
    select(x < 1.0, x, 1.0)
}

/// `a + b` rounded to odd: if inexact, the neighbour whose last bit is one.
///
/// The sum must not overflow.
#[inline(always)]
pub fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let other = sum - a;
    let error = (a - (sum - other)) + (b - other);
    let inexact = (error > 0.0) | (error < 0.0);
    let away = (error > 0.0) == (sum > 0.0);
    let even = sum.to_bits() & 1 == 0;
    let step = select(away, 1, u64::MAX);
    f64::from_bits(sum.to_bits().wrapping_add(select(inexact & even, step, 0)))
}

/// An `f64` as `f32` rounded to odd, for a further rounding to at most 22 bits.
#[inline(always)]
pub fn to_odd_f32(x: f64) -> f32 {
    let near = x as f32;
    let wide = f64::from(near);
    let inexact = (wide < x) | (wide > x);
    let step = select(wide.abs() < x.abs(), 1, u32::MAX);
    let even = near.to_bits() & 1 == 0;
    f32::from_bits(near.to_bits().wrapping_add(select(inexact & even, step, 0)))
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
pub trait Ordered: Copy {
    /// The canonical NaN of the format.
    const NAN: Self;

    /// `a < b`
    fn less(a: Self, b: Self) -> bool;

    /// Whether it is NaN.
    fn is_nan(self) -> bool;

    /// The bits of `a` and `b` combined: or if `or`, and otherwise.
    fn combine(a: Self, b: Self, or: bool) -> Self;

    /// The result for two NaN operands, the second of which is `b`.
    #[inline(always)]
    fn both_nan(b: Self) -> Self {
        let _ = b;
        Self::NAN
    }
}

impl Ordered for f32 {
    const NAN: Self = NAN_F32;

    #[inline(always)]
    fn less(a: Self, b: Self) -> bool {
        a < b
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    #[inline(always)]
    fn combine(a: Self, b: Self, or: bool) -> Self {
        let (a, b) = (a.to_bits(), b.to_bits());
        Self::from_bits(select(or, a | b, a & b))
    }
}

impl Ordered for f64 {
    const NAN: Self = Self::from_bits(0x7fff_ffff_ffff_ffff);

    #[inline(always)]
    fn both_nan(b: Self) -> Self {
        propagate(b, b, b)
    }

    #[inline(always)]
    fn less(a: Self, b: Self) -> bool {
        a < b
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    #[inline(always)]
    fn combine(a: Self, b: Self, or: bool) -> Self {
        let (a, b) = (a.to_bits(), b.to_bits());
        Self::from_bits(select(or, a | b, a & b))
    }
}

/// The smaller or the larger of two; -0 is smaller than +0.
#[inline(always)]
pub fn extremum<T: Ordered>(which: Extremum, a: T, b: T) -> T {
    let (low, high) = if which.max { (b, a) } else { (a, b) };
    // If neither is smaller they are equal, and differ in the sign of zero at most.
    let equal = T::combine(a, b, !which.max);
    let result = select(T::less(a, b), low, select(T::less(b, a), high, equal));
    let (lone_a, lone_b) = if which.nan { (T::NAN, T::NAN) } else { (a, b) };
    let result = select(b.is_nan(), lone_a, result);
    let result = select(a.is_nan(), lone_b, result);
    select(a.is_nan() & b.is_nan(), T::both_nan(b), result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::soft;
    use crate::isa::soft::Format;

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
                same("sqrt", mode.narrow(a.sqrt()), soft::sqrt(a, rounding, Format::F32));
                for b in numbers().into_iter().map(f64::from) {
                    let name = format!("{a:e} {b:e} {rounding:?}");
                    same(&name, mode.sum(a, b), soft::add(a, b, rounding, Format::F32));
                    same(&name, mode.narrow(a * b), soft::mul(a, b, rounding, Format::F32));
                    same(&name, mode.narrow(a / b), soft::div(a, b, rounding, Format::F32));
                    for c in numbers().into_iter().map(f64::from) {
                        same(&name, mode.sum(a * b, c), soft::fma(a, b, c, rounding, Format::F32));
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
