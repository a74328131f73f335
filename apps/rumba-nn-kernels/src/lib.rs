//! The kernels of layers that are no products: norms, softmax, functions of each element, lookups.
//!
//! All compute in `f32` and round once, when they write. Each kernel documents the arguments of a launch; `rumba-nn`
//! launches them.
#![no_std]

pub mod elementwise;
pub mod example;
pub mod gradient;
pub mod lookup;
pub mod norm;

use bytemuck::Pod;
use cuda_std::Element;
use cuda_std::half::{bf16, f16};
use cuda_std::vector::{Vector4, Vector8};

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

/// Numbers that a thread reads and writes together: one, or a vector of 16 bytes.
///
/// A kernel that is limited by memory takes vectors where rows of a tensor begin at multiples of 16 bytes, and numbers elsewhere.
pub trait Lanes: Pod + Element {
    /// The numbers in `f32`.
    type Floats: Copy + Default + AsRef<[f32]> + AsMut<[f32]>;

    /// The number of these numbers.
    const COUNT: usize;

    /// The nearest to some numbers.
    #[must_use]
    fn rounded(values: Self::Floats) -> Self;

    /// The numbers.
    #[must_use]
    fn floats(self) -> Self::Floats;
}

/// Four numbers of `f32`.
pub type SingleVector = Vector4<f32>;
/// Eight of `f16`.
pub type HalfVector = Vector8<f16>;
/// Eight of `bf16`.
pub type BrainVector = Vector8<bf16>;

macro_rules! lanes {
    ($($ty:ty: $count:literal, |$value:ident| $of:expr, $floats:expr;)*) => {$(
        impl Lanes for $ty {
            type Floats = [f32; $count];

            const COUNT: usize = $count;

            #[inline(always)]
            fn rounded($value: [f32; $count]) -> Self {
                $of
            }

            #[inline(always)]
            fn floats(self) -> [f32; $count] {
                let $value = self;
                $floats
            }
        }
    )*};
}

lanes! {
    f32: 1, |x| x[0], [x];
    f16: 1, |x| f16::of(x[0]), [x.number()];
    bf16: 1, |x| bf16::of(x[0]), [x.number()];
    SingleVector: 4, |x| Vector4(x), x.0;
    HalfVector: 8, |x| Vector8(x.map(f16::of)), x.0.map(Real::number);
    BrainVector: 8, |x| Vector8(x.map(bf16::of)), x.0.map(Real::number);
}

/// A function of the numbers of two, place by place.
#[inline(always)]
pub(crate) fn both<F: Copy + Default + AsRef<[f32]> + AsMut<[f32]>>(
    x: F,
    y: F,
    function: impl Fn(f32, f32) -> f32,
) -> F {
    let mut z = F::default();
    for (z, (x, y)) in z.as_mut().iter_mut().zip(x.as_ref().iter().zip(y.as_ref())) {
        *z = function(*x, *y);
    }
    z
}
