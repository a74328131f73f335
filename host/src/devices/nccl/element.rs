//! Elements and reduction operators of collective operations.

use bytemuck::Pod;
use cuda_std::half::{bf16, f16};
use std::ffi::c_int;

/// How elements of several devices become one: `ncclRedOp_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceOp {
    /// The sum; of integers, without the bits that are too many.
    Sum,
    /// The product; of integers, without the bits that are too many.
    Product,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The sum divided by the number of devices; of integers, rounded towards zero.
    Average,
}

impl ReduceOp {
    pub(in crate::devices) fn number(self) -> c_int {
        match self {
            ReduceOp::Sum => 0,
            ReduceOp::Product => 1,
            ReduceOp::Max => 2,
            ReduceOp::Min => 3,
            ReduceOp::Average => 4,
        }
    }
}

/// A type that collective operations work on: `i8`, `u8`, `i32`, `u32`, `i64`, `u64`, `f16`, `bf16`, `f32` and `f64`.
pub trait Element: Pod + Send + Sync + sealed::Element {}

impl<T: Pod + Send + Sync + sealed::Element> Element for T {}

/// Combines values with those of another device or rank, element by element. An average is a sum until all are [divided](average).
pub(in crate::devices) fn combine<T: Element>(values: &mut [T], others: &[T], op: ReduceOp) {
    for (value, other) in values.iter_mut().zip(others) {
        *value = value.combine(*other, op);
    }
}

/// Makes averages of sums over so many, if that is the operation.
pub(in crate::devices) fn average<T: Element>(sums: &mut [T], op: ReduceOp, count: usize) {
    if op == ReduceOp::Average {
        sums.iter_mut().for_each(|sum| *sum = sum.divide(count));
    }
}

pub(super) mod sealed {
    use super::ReduceOp;
    use std::ffi::c_int;

    /// The list is NCCL's.
    pub trait Element: Copy {
        /// The number of its `ncclDataType_t`.
        const TYPE: c_int;
        /// One of two; an average is at first a sum.
        fn combine(self, other: Self, op: ReduceOp) -> Self;
        /// An average from a sum.
        fn divide(self, count: usize) -> Self;
    }
}

macro_rules! integers {
    ($($type:ty = $number:literal),*) => {$(
        impl sealed::Element for $type {
            const TYPE: c_int = $number;

            fn combine(self, other: Self, op: ReduceOp) -> Self {
                match op {
                    ReduceOp::Sum | ReduceOp::Average => self.wrapping_add(other),
                    ReduceOp::Product => self.wrapping_mul(other),
                    ReduceOp::Max => self.max(other),
                    ReduceOp::Min => self.min(other),
                }
            }

            fn divide(self, count: usize) -> Self {
                <$type>::try_from(count).map_or(0, |count| self.wrapping_div(count))
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ty = $number:literal in $wide:ty, $into:expr, $from:expr;)*) => {$(
        impl sealed::Element for $type {
            const TYPE: c_int = $number;

            fn combine(self, other: Self, op: ReduceOp) -> Self {
                let (into, from): (fn($type) -> $wide, fn($wide) -> $type) = ($into, $from);
                let (a, b) = (into(self), into(other));
                from(match op {
                    ReduceOp::Sum | ReduceOp::Average => a + b,
                    ReduceOp::Product => a * b,
                    ReduceOp::Max => a.max(b),
                    ReduceOp::Min => a.min(b),
                })
            }

            fn divide(self, count: usize) -> Self {
                let (into, from): (fn($type) -> $wide, fn($wide) -> $type) = ($into, $from);
                from(into(self) / count as $wide)
            }
        }
    )*};
}

integers!(i8 = 0, u8 = 1, i32 = 2, u32 = 3, i64 = 4, u64 = 5);
floats! {
    f16 = 6 in f32, f16::to_f32, f16::from_f32;
    f32 = 7 in f32, |value| value, |value| value;
    f64 = 8 in f64, |value| value, |value| value;
    bf16 = 9 in f32, bf16::to_f32, bf16::from_f32;
}
