//! The types of scalar values, and the meaning of operations on them in Rust.
//!
//! The functions are free of branches where loops over them are to be vectorised.

use std::hint::select_unpredictable as select;

use crate::arith::float::sum_to_odd;
use crate::arith::native;
use crate::base::ir::Element;

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
}

/// A type of scalar values.
pub trait Scalar: Copy + 'static {
    /// The type in LLVM.
    const ELEMENT: Element;

    /// The bits, zero-extended.
    fn to_word(self) -> u64;

    /// The value with these bits; bits above the type's width do not count.
    fn from_word(word: u64) -> Self;
}

/// Types with bitwise operations.
pub trait Bits: Scalar {
    /// All bits set.
    const ONES: Self;

    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

/// Types with arithmetic and an order.
pub trait Number: Scalar + PartialOrd {
    /// Selects the name of an operation: of unsigned integers, of signed integers, or of floating-point numbers.
    fn name(names: [&'static str; 3]) -> &'static str;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn neg(self) -> Self;
}

/// Integers.
pub trait Integer: Number + Bits {
    /// The width.
    const BITS: u32;
    /// Whether there are negative numbers.
    const IS_SIGNED: bool;
    /// The smallest number.
    const MIN: Self;
    /// The largest number.
    const MAX: Self;

    /// The number, zero- or sign-extended as the type says.
    fn extended(self) -> u64;
    fn shl(self, amount: u32) -> Self;
    fn shr(self, amount: u32) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn high(self, other: Self) -> Self;
    fn quotient(self, other: Self) -> Self;
    fn saturating_add(self, other: Self) -> Self;
    fn saturating_sub(self, other: Self) -> Self;
    fn count_ones(self) -> Self;
    fn leading_zeros(self) -> Self;
    fn reverse_bits(self) -> Self;
    fn funnel_left(self, low: Self, amount: Self) -> Self;
    fn funnel_right(self, low: Self, amount: Self) -> Self;
    fn to_f32(self) -> f32;
    fn to_f64(self) -> f64;
    fn of_f32(x: f32) -> Self;
    fn of_f64(x: f64) -> Self;
}

/// The floating-point numbers with which processors compute.
pub trait Float: Number {
    /// The unsigned integer of the same width.
    type Bits: Integer;

    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The bits of infinity.
    const INFINITY: Self::Bits;
    /// The bits of the magnitude.
    const MAGNITUDE: Self::Bits;
    /// The smallest normal number.
    const MIN_POSITIVE: Self;

    fn div(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
    fn abs(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn sqrt(self) -> Self;
    fn fma<const FUSED: bool>(self, b: Self, c: Self) -> Self;
    fn round(self, rounding: Rounding) -> Self;
    fn of_integer<I: Integer>(x: I) -> Self;
    fn to_integer<I: Integer>(self) -> I;
}

macro_rules! scalars {
    ($($ty:ty: $element:ident, |$x:ident| $to:expr, |$word:ident| $from:expr;)*) => {$(
        impl Scalar for $ty {
            const ELEMENT: Element = Element::$element;

            #[inline(always)]
            fn to_word(self) -> u64 {
                let $x = self;
                $to
            }

            #[inline(always)]
            fn from_word($word: u64) -> Self {
                $from
            }
        }
    )*};
}

scalars! {
    bool: I1, |x| x.into(), |word| word & 1 != 0;
    u8: I8, |x| x.into(), |word| word as u8;
    i8: I8, |x| (x as u8).into(), |word| word as i8;
    u16: I16, |x| x.into(), |word| word as u16;
    i16: I16, |x| (x as u16).into(), |word| word as i16;
    u32: I32, |x| x.into(), |word| word as u32;
    i32: I32, |x| (x as u32).into(), |word| word as i32;
    u64: I64, |x| x, |word| word;
    i64: I64, |x| x as u64, |word| word as i64;
    f32: F32, |x| x.to_bits().into(), |word| f32::from_bits(word as u32);
    f64: F64, |x| x.to_bits(), |word| f64::from_bits(word);
    F16: I16, |x| x.0.into(), |word| F16(word as u16);
    Bf16: I16, |x| x.0.into(), |word| Bf16(word as u16);
}

/// An IEEE half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F16(pub u16);

/// The upper half of an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bf16(pub u16);

macro_rules! bits {
    ($($ty:ty, $ones:expr;)*) => {$(
        impl Bits for $ty {
            const ONES: Self = $ones;

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

bits! {
    bool, true;
    u8, !0;
    i8, !0;
    u16, !0;
    i16, !0;
    u32, !0;
    i32, !0;
    u64, !0;
    i64, !0;
}

macro_rules! integers {
    ($($ty:ty: $unsigned:ty, $wide:ty, $quotient:expr, |$x:ident| $of_f32:expr, $of_f64:expr;)*) => {$(
        impl Number for $ty {
            #[inline(always)]
            fn name([unsigned, signed, _]: [&'static str; 3]) -> &'static str {
                if Self::IS_SIGNED { signed } else { unsigned }
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
        }

        impl Integer for $ty {
            const BITS: u32 = <$ty>::BITS;
            const IS_SIGNED: bool = <$ty>::MIN != 0;
            const MIN: Self = <$ty>::MIN;
            const MAX: Self = <$ty>::MAX;

            #[inline(always)]
            #[allow(clippy::unnecessary_cast, reason = "one of the types is that of the cast")]
            fn extended(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn shl(self, amount: u32) -> Self {
                self.wrapping_shl(amount)
            }

            #[inline(always)]
            fn shr(self, amount: u32) -> Self {
                self.wrapping_shr(amount)
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Ord::min(self, other)
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Ord::max(self, other)
            }

            #[inline(always)]
            fn high(self, other: Self) -> Self {
                ((<$wide>::from(self) * <$wide>::from(other)) >> <$ty>::BITS) as Self
            }

            #[inline(always)]
            fn quotient(self, other: Self) -> Self {
                let quotient: fn(Self, Self) -> Self = $quotient;
                quotient(self, other)
            }

            #[inline(always)]
            fn saturating_add(self, other: Self) -> Self {
                self.saturating_add(other)
            }

            #[inline(always)]
            fn saturating_sub(self, other: Self) -> Self {
                self.saturating_sub(other)
            }

            #[inline(always)]
            fn count_ones(self) -> Self {
                self.count_ones() as Self
            }

            #[inline(always)]
            fn leading_zeros(self) -> Self {
                self.leading_zeros() as Self
            }

            #[inline(always)]
            fn reverse_bits(self) -> Self {
                self.reverse_bits()
            }

            #[inline(always)]
            fn funnel_left(self, low: Self, amount: Self) -> Self {
                let (high, low) = (self as $unsigned, low as $unsigned);
                let amount = amount as u32 % Self::BITS;
                // A shift by the whole width is one by a bit and by the rest.
                (high << amount | low >> 1 >> (Self::BITS - 1 - amount)) as Self
            }

            #[inline(always)]
            fn funnel_right(self, low: Self, amount: Self) -> Self {
                let (high, low) = (self as $unsigned, low as $unsigned);
                let amount = amount as u32 % Self::BITS;
                (low >> amount | high << 1 << (Self::BITS - 1 - amount)) as Self
            }

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline(always)]
            fn of_f32($x: f32) -> Self {
                $of_f32
            }

            #[inline(always)]
            fn of_f64($x: f64) -> Self {
                $of_f64
            }
        }
    )*};
}

integers! {
    u8: u8, u16, |a, b| divide_u32(a.into(), b.into()) as u8, |x| to_i32_single(x, 0.0, 255.0) as u8, to_i32(x, 0.0, 255.0) as u8;
    i8: u8, i16, |a, b| divide_s32(a.into(), b.into()) as i8, |x| select(x.is_nan(), 0, to_i32_single(x, -128.0, 127.0) as i8), select(x.is_nan(), 0, to_i32(x, -128.0, 127.0) as i8);
    u16: u16, u32, |a, b| divide_u32(a.into(), b.into()) as u16, |x| to_i32_single(x, 0.0, 65535.0) as u16, to_i32(x, 0.0, 65535.0) as u16;
    i16: u16, i32, |a, b| divide_s32(a.into(), b.into()) as i16, |x| select(x.is_nan(), 0, to_i32_single(x, -32768.0, 32767.0) as i16), select(x.is_nan(), 0, to_i32(x, -32768.0, 32767.0) as i16);
    u32: u32, u64, divide_u32, |x| {
        let large = x > BELOW_2_31;
        let low = to_i32_single(select(large, x - 2_147_483_648.0, x), 0.0, BELOW_2_31) as u32;
        let low = select(large, low | 0x8000_0000, low);
        select(x > 4_294_967_040.0, u32::MAX, low)
    }, {
        // The upper half of the range is moved to the lower one.
        let large = x >= 2_147_483_648.0;
        let low = to_i32(select(large, x - 2_147_483_648.0, x), 0.0, f64::from(i32::MAX)) as u32;
        select(large, low | 0x8000_0000, low)
    };
    i32: u32, i64, divide_s32, |x| {
        let number = select(x > BELOW_2_31, i32::MAX, to_i32_single(x, -2_147_483_648.0, BELOW_2_31));
        select(x.is_nan(), 0, number)
    }, select(x.is_nan(), 0, to_i32(x, f64::from(i32::MIN), f64::from(i32::MAX)));
    u64: u64, u128, |a, b| a.checked_div(b).unwrap_or(u64::MAX), |x| x as u64, x as u64;
    i64: u64, i128, |a, b| if b == 0 { -1 } else { a.wrapping_div(b) }, |x| x as i64, x as i64;
}

/// `x` clamped to a range within that of `i32`, as that: unlike a cast, this is one instruction for several lanes.
#[inline(always)]
fn to_i32(x: f64, low: f64, high: f64) -> i32 {
    let x = select(x > low, x, low);
    let x = select(x < high, x, high);
    // SAFETY: the comparisons leave no NaN, and both bounds are within the range of `i32`.
    unsafe { x.to_int_unchecked() }
}

/// The same from `f32`, for ranges whose ends an `f32` can hold.
#[inline(always)]
fn to_i32_single(x: f32, low: f32, high: f32) -> i32 {
    let x = select(x > low, x, low);
    let x = select(x < high, x, high);
    // SAFETY: the comparisons leave no NaN, and both bounds are within the range of `i32`.
    unsafe { x.to_int_unchecked() }
}

/// The largest `f32` below 2^31.
const BELOW_2_31: f32 = 2_147_483_520.0;

/// The quotient; all ones for a divisor of zero.
///
/// A quotient of 32-bit numbers that is no integer is further from the next integer than `f64` rounds.
#[inline(always)]
fn divide_u32(a: u32, b: u32) -> u32 {
    let quotient = f64::from(a) / f64::from(select(b == 0, 1, b));
    // SAFETY: the quotient of two `u32` with a divisor of at least one is within 0..2^32.
    let quotient = unsafe { quotient.to_int_unchecked::<i64>() } as u32;
    select(b == 0, u32::MAX, quotient)
}

/// The quotient towards zero; -1 for a divisor of zero, wrapping for `MIN / -1`.
#[inline(always)]
fn divide_s32(a: i32, b: i32) -> i32 {
    let quotient = f64::from(a) / f64::from(select(b == 0, 1, b));
    // SAFETY: the quotient is within ±2^31.
    let quotient = unsafe { quotient.to_int_unchecked::<i64>() } as i32;
    select(b == 0, -1, quotient)
}

macro_rules! floats {
    ($($ty:ty: $bits:ty, $to:ident, $of:ident, |$a:ident, $b:ident, $c:ident| $unfused:expr;)*) => {$(
        impl Number for $ty {
            #[inline(always)]
            fn name([.., float]: [&'static str; 3]) -> &'static str {
                float
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
        }

        impl Float for $ty {
            type Bits = $bits;

            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MAGNITUDE: $bits = <$bits>::MAX >> 1;
            const INFINITY: $bits = <$ty>::INFINITY.to_bits();
            const MIN_POSITIVE: Self = <$ty>::MIN_POSITIVE;

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                self.copysign(sign)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn fma<const FUSED: bool>(self, b: Self, c: Self) -> Self {
                if FUSED {
                    self.mul_add(b, c)
                } else {
                    let ($a, $b, $c) = (self, b, c);
                    $unfused
                }
            }

            #[inline(always)]
            fn round(self, rounding: Rounding) -> Self {
                match rounding {
                    Rounding::Nearest => self.round_ties_even(),
                    Rounding::Zero => self.trunc(),
                    Rounding::Down => self.floor(),
                    Rounding::Up => self.ceil(),
                }
            }

            #[inline(always)]
            fn of_integer<I: Integer>(x: I) -> Self {
                x.$to()
            }

            #[inline(always)]
            fn to_integer<I: Integer>(self) -> I {
                I::$of(self)
            }
        }
    )*};
}

floats! {
    // The sum of the exact product is rounded to odd first.
    f32: u32, to_f32, of_f32, |a, b, c| sum_to_odd(native(f64::from(a) * f64::from(b)), native(f64::from(c))).0 as f32;
    f64: u64, to_f64, of_f64, |a, b, c| a.mul_add(b, c);
}
