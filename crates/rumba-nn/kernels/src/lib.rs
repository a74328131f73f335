//! The kernels of layers that are no products: norms, softmax, functions of each element, lookups.
//!
//! All compute in `f32` and round once, when they write. What a launch is given is said at each kernel; `rumba-nn` launches them.
#![no_std]

pub mod elementwise;
pub mod example;
pub mod gradient;
pub mod lookup;
pub mod norm;

use bytemuck::Pod;
use cuda_std::Element;
use cuda_std::half::{bf16, f16};

/// Numbers that tensors have.
pub trait Real: Pod + Element {
    /// The nearest to a number.
    #[must_use]
    fn of(value: f32) -> Self;

    /// The number.
    #[must_use]
    fn number(self) -> f32;
}

macro_rules! reals {
    ($($ty:ident: |$value:ident| $of:expr, $number:expr;)*) => {$(
        impl Real for $ty {
            #[inline(always)]
            fn of($value: f32) -> Self {
                $of
            }

            #[inline(always)]
            fn number(self) -> f32 {
                let $value = self;
                $number
            }
        }
    )*};
}

reals! {
    f32: |value| value, value;
    f16: |value| f16::from_f32(value), value.to_f32();
    bf16: |value| bf16::from_f32(value), value.to_f32();
}
