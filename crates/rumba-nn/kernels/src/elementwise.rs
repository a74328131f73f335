//! Functions of each element, whose operands broadcast.

use crate::Real;
use cuda_std::float::erf;
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;

/// The number of [`activate()`]'s function `x`.
pub const IDENTITY: u32 = 0;
/// That of `x / (1 + exp(-x))`, also called swish.
pub const SILU: u32 = 1;
/// That of `x Φ(x)`, with the normal distribution's Φ (Hendrycks, Gimpel 2016).
pub const GELU: u32 = 2;
/// That of `x / (1 + exp(-1.702 x))`, by which CLIP approximates the former.
pub const QUICK_GELU: u32 = 3;
/// That of `max(x, 0)`.
pub const RELU: u32 = 4;

#[inline(always)]
fn activated(x: f32, function: u32) -> f32 {
    let gated = |gate: f32| x / (1.0 + GpuFloat::exp(-gate));
    match function {
        SILU => gated(x),
        GELU => 0.5 * x * (1.0 + erf(x * core::f32::consts::FRAC_1_SQRT_2)),
        QUICK_GELU => gated(1.702 * x),
        // A comparison and not a maximum, which would be a number where `x` is none.
        RELU if x < 0.0 => 0.0,
        _ => x,
    }
}

/// A function of each element, by its number.
#[vectorize(T = [f32, f16, bf16])]
pub fn activate<T: Real>(x: T, function: u32) -> T {
    T::of(activated(x.number(), function))
}

/// `x` times the [`GELU`] of a gate: GEGLU of Shazeer 2020.
#[vectorize(T = [f32, f16, bf16])]
pub fn gated<T: Real>(x: T, gate: T) -> T {
    T::of(x.number() * activated(gate.number(), GELU))
}

/// `function(factor x + addend)`: what is left to do of a norm when its [`factors`](crate::norm::group_factors) are known.
#[vectorize(T = [f32, f16, bf16])]
pub fn normalise<T: Real>(x: T, factors: [f32; 2], function: u32) -> T {
    let [factor, addend] = factors;
    T::of(activated(GpuFloat::mul_add(x.number(), factor, addend), function))
}

/// `a x + b y`, rounded once.
#[vectorize(T = [f32, f16, bf16])]
pub fn sum<T: Real>(x: T, y: T, a: f32, b: f32) -> T {
    T::of(GpuFloat::mul_add(a, x.number(), b * y.number()))
}

/// The nearest number of another type, or of the same one: a copy.
#[vectorize((A, B) = [(f32, f32), (f16, f16), (bf16, bf16), (f32, f16), (f32, bf16), (f16, f32), (bf16, f32)])]
pub fn convert<A: Real, B: Real>(x: A) -> B {
    B::of(x.number())
}
