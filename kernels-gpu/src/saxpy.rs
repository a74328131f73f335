//! The classic of linear algebra on GPUs: `y = a x + y`.
//!
//! A number, an input and an output that is also read. The product and the sum are one instruction
//! (`fma.rn`), and `x`, which nobody writes, is read through the cache for constant data
//! (`ld.global.nc`).

use cuda_std::prelude::*;

/// `y[i] += a * x[i]`
///
/// Launch it with at least as many threads as `y` has elements, in one dimension. `x` is at least
/// as long.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y += a * x[i];
    }
}
