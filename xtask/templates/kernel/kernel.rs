//! `NAME`: describe what the kernel computes, and which lesson it teaches.

use cuda_std::prelude::*;

/// `y[i] = a * x[i]`, one element per thread. Replace this with your own computation.
///
/// `x` and `y` are equally long. Launch at least one thread per element, in one dimension.
#[kernel]
pub fn NAME(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = a * x[i];
    }
}
