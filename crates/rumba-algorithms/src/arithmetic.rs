//! The functions of two elements behind the operators between arrays: `rumba::array`'s `&a + &b`.
//!
//! Integers wrap around, as they do in NumPy and in CUDA, and what is divided by 0 becomes 0: a kernel that stopped there
//! would take a whole array with it.

use cuda_std::algorithms::{Operator, Product, Sum};
use cuda_std::prelude::*;

/// Numbers with the operations that reductions have no use for, total ones.
pub trait Arithmetic: Copy {
    /// `self - other`
    fn difference(self, other: Self) -> Self;
    /// `self / other`
    fn quotient(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Arithmetic for $integer {
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn quotient(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
        }
    )*};
}

macro_rules! floats {
    ($($float:ty)*) => {$(
        impl Arithmetic for $float {
            #[inline(always)]
            fn difference(self, other: Self) -> Self {
                self - other
            }

            #[inline(always)]
            fn quotient(self, other: Self) -> Self {
                self / other
            }
        }
    )*};
}

integers!(u32 i32 u64 i64);
floats!(f32 f64);

/// `a + b`
#[vectorize(T = [u32, i32, u64, i64, f32, f64])]
pub fn add<T>(a: T, b: T) -> T
where
    Sum: Operator<T>,
{
    Sum::combine(a, b)
}

/// `a - b`
#[vectorize(T = [u32, i32, u64, i64, f32, f64])]
pub fn sub<T: Arithmetic>(a: T, b: T) -> T {
    a.difference(b)
}

/// `a * b`
#[vectorize(T = [u32, i32, u64, i64, f32, f64])]
pub fn mul<T>(a: T, b: T) -> T
where
    Product: Operator<T>,
{
    Product::combine(a, b)
}

/// `a / b`
#[vectorize(T = [u32, i32, u64, i64, f32, f64])]
pub fn div<T: Arithmetic>(a: T, b: T) -> T {
    a.quotient(b)
}
