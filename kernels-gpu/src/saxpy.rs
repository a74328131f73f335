//! The classic of linear algebra on GPUs: `y = a x + y`.
//!
//! A number, an input and an output that is also read. The product and the sum are one instruction
//! (`fma.rn`), and `x`, which is never written, is read through the cache for constant data
//! (`ld.global.nc`).

use cuda_std::prelude::*;

/// `y[i] += a * x[i]`
///
/// Launch it with a thread for each four elements of `y`, in one dimension. `x` is at least as long.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: Disjoint<f32, Striped<4>>) {
    y.each_with(x, |y, x| *y += a * x);
}
