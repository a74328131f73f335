//! Functions of each element, whose operands broadcast.

use crate::{BrainVector, HalfVector, Lanes, Real, SingleVector, both};
use cuda_std::float::erf;
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;

/// The number of [`activate()`]'s function `x`.
pub const IDENTITY: u32 = 0;
/// The number of `x / (1 + exp(-x))`, also called swish.
pub const SILU: u32 = 1;
/// The number of `x Φ(x)`, with the normal distribution's Φ (Hendrycks, Gimpel 2016).
pub const GELU: u32 = 2;
/// The number of `x / (1 + exp(-1.702 x))`, CLIP's approximation of GELU.
pub const QUICK_GELU: u32 = 3;
/// The number of `max(x, 0)`.
pub const RELU: u32 = 4;

#[inline(always)]
pub(crate) fn activated(x: f32, function: u32) -> f32 {
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

/// `x` times the [`GELU`] of a gate: GEGLU of Shazeer 2020. The first half of each row of `halves` is `x`, the second the gate.
///
/// `columns` is how many there are of `y` in a row. Launch it with a thread for each.
// ANCHOR: gated
#[kernel(T = [f32, f16, bf16, SingleVector, HalfVector, BrainVector])]
pub fn gated<T: Lanes>(halves: &[T], columns: u32, mut y: DisjointSlice<T>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        let columns = columns.max(1) as usize;
        let (row, column) = (i.get() / columns, i.get() % columns);
        let x = 2 * columns * row + column;
        let (x, gate) = (halves[x].floats(), halves[x + columns].floats());
        *y = T::rounded(both(x, gate, |x, gate| x * activated(gate, GELU)));
    }
}
// ANCHOR_END: gated

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
