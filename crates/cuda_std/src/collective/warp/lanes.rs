//! Sums, extremes and scans over the lanes of a warp or of a part of it.
//!
//! All are made of [`Lanes`]: which lanes take part, and which is the n-th of them. The warp, its tiles and the lanes
//! that happen to be together are three kinds of it, so each algorithm is written once.

use core::any::TypeId;
use core::ops::{Add, BitAnd, BitOr, BitXor};

use super::Shuffle;
use crate::device::intrinsics;
use crate::number::complex::Complex;

/// Lanes that exchange values.
///
/// # Safety
///
/// `mask` has the calling lane, and is the same for all lanes in it.
pub(crate) unsafe trait Lanes: Copy {
    /// The lanes that take part.
    fn mask(self) -> u32;
    /// The number of lanes.
    fn size(self) -> u32;
    /// The rank of the calling lane, from 0.
    fn rank(self) -> u32;
    /// The value of the lane of rank `rank`, below the size.
    fn value_of<T: Shuffle>(self, value: T, rank: u32) -> T;
    /// The value of the lane whose rank is `delta` less; unspecified for ranks below `delta`.
    fn value_below<T: Shuffle>(self, value: T, delta: u32) -> T;
    /// The value of the lane whose rank is `delta` more; unspecified if no lane has this rank.
    fn value_above<T: Shuffle>(self, value: T, delta: u32) -> T;
    /// Whether the lanes are neighbours and their number is a power of two.
    fn is_tile(self) -> bool;
    /// The value of the lane whose rank differs by the bits `lanes`, which are below the size; unspecified if the lanes are no
    /// tile.
    fn value_across<T: Shuffle>(self, value: T, lanes: u32) -> T;
}

/// Combines the values of all lanes; each lane gets the result. The order is fixed.
#[inline(always)]
pub(crate) fn reduce<L: Lanes, T: Shuffle>(lanes: L, value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut result = value;
    let size = lanes.size();
    if lanes.is_tile() {
        let mut distance = size / 2;
        while distance > 0 {
            result = combine(result, lanes.value_across(result, distance));
            distance /= 2;
        }
        return result;
    }
    // Halves, the upper onto the lower, until one is left; then it tells the others.
    let mut left = size;
    while left > 1 {
        let half = left.div_ceil(2);
        let other = lanes.value_above(result, half);
        if lanes.rank() + half < left {
            result = combine(result, other);
        }
        left = half;
    }
    lanes.value_of(result, 0)
}

/// Combines the values of all lanes up to and with the calling one.
#[inline(always)]
pub(crate) fn inclusive_scan<L: Lanes, T: Shuffle>(lanes: L, value: T, combine: impl Fn(T, T) -> T) -> T {
    let mut result = value;
    let mut distance = 1;
    while distance < lanes.size() {
        let below = lanes.value_below(result, distance);
        if lanes.rank() >= distance {
            result = combine(below, result);
        }
        distance *= 2;
    }
    result
}

/// Combines the values of all lanes before the calling one; the first lane gets `first`.
#[inline(always)]
pub(crate) fn exclusive_scan<L: Lanes, T: Shuffle>(lanes: L, value: T, first: T, combine: impl Fn(T, T) -> T) -> T {
    let through = inclusive_scan(lanes, value, combine);
    let before = lanes.value_below(through, 1);
    if lanes.rank() == 0 { first } else { before }
}

/// Numbers of which a warp finds the sum.
pub trait Sum: Shuffle + Add<Output = Self> {
    /// Nothing added yet.
    const ZERO: Self;
    /// The sum; integers wrap around.
    #[must_use]
    fn plus(self, other: Self) -> Self;
}

/// Numbers of which a warp finds the extremes.
pub trait Extreme: Shuffle {
    /// The smaller; of a number and a NaN the number.
    #[must_use]
    fn smaller(self, other: Self) -> Self;
    /// The larger; of a number and a NaN the number.
    #[must_use]
    fn larger(self, other: Self) -> Self;
}

/// Integers, whose bits a warp combines.
pub trait Bits: Shuffle + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> {}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Sum for $ty {
            const ZERO: Self = 0;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
        impl Extreme for $ty {
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        }
        impl Bits for $ty {}
    )*};
}

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Sum for $ty {
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
        }
        impl Extreme for $ty {
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

macro_rules! complex {
    ($($ty:ident)*) => {$(
        impl Sum for Complex<$ty> {
            const ZERO: Self = Complex::new(0.0, 0.0);
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
        }
    )*};
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);
floats!(f32 f64);
complex!(f32 f64);

/// Returns the result of one `redux.sync` if the code is built for devices with that instruction and the value has one
/// of the listed types. Otherwise does nothing.
macro_rules! by_one_instruction {
    ($lanes:ident, $value:ident: $T:ident, $(($ty:ident, $operation:ident)),*) => {
        if intrinsics::arch() >= 800 {
            $(
                if TypeId::of::<$T>() == TypeId::of::<$ty>() {
                    let result: $ty = intrinsics::$operation(to::<$T, $ty>($value), $lanes.mask());
                    return to::<$ty, $T>(result);
                }
            )*
        }
    };
}

/// Converts a value to its own type: `T` and `U` are the same type.
#[inline(always)]
fn to<T: Copy + 'static, U: Copy + 'static>(value: T) -> U {
    debug_assert!(TypeId::of::<T>() == TypeId::of::<U>());
    // SAFETY: the callers have compared the types.
    unsafe { core::mem::transmute_copy(&value) }
}

/// The sum of all lanes' values; each lane gets it.
#[inline(always)]
pub(crate) fn reduce_sum<L: Lanes, T: Sum>(lanes: L, value: T) -> T {
    by_one_instruction!(lanes, value: T, (u32, redux_add_u32), (i32, redux_add_i32));
    reduce(lanes, value, T::plus)
}

/// The smallest of all lanes' values; each lane gets it.
#[inline(always)]
pub(crate) fn reduce_min<L: Lanes, T: Extreme>(lanes: L, value: T) -> T {
    by_one_instruction!(lanes, value: T, (u32, redux_min_u32), (i32, redux_min_i32));
    reduce(lanes, value, T::smaller)
}

/// The largest of all lanes' values; each lane gets it.
#[inline(always)]
pub(crate) fn reduce_max<L: Lanes, T: Extreme>(lanes: L, value: T) -> T {
    by_one_instruction!(lanes, value: T, (u32, redux_max_u32), (i32, redux_max_i32));
    reduce(lanes, value, T::larger)
}

/// The bits that all lanes' values have; each lane gets them.
#[inline(always)]
pub(crate) fn reduce_and<L: Lanes, T: Bits>(lanes: L, value: T) -> T {
    by_one_instruction!(lanes, value: T, (u32, redux_and_u32), (i32, redux_and_i32));
    reduce(lanes, value, |a, b| a & b)
}

/// The bits that any lane's value has; each lane gets them.
#[inline(always)]
pub(crate) fn reduce_or<L: Lanes, T: Bits>(lanes: L, value: T) -> T {
    by_one_instruction!(lanes, value: T, (u32, redux_or_u32), (i32, redux_or_i32));
    reduce(lanes, value, |a, b| a | b)
}

/// The bits that an odd number of lanes' values have; each lane gets them.
#[inline(always)]
pub(crate) fn reduce_xor<L: Lanes, T: Bits>(lanes: L, value: T) -> T {
    by_one_instruction!(lanes, value: T, (u32, redux_xor_u32), (i32, redux_xor_i32));
    reduce(lanes, value, |a, b| a ^ b)
}
