//! CUDA C++: `if (i < n)` with a length of 32 bits.

use cuda_std::prelude::*;

#[kernel]
pub fn scale(n: u32, mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if i < n && let Some(y) = y.get_mut(i) {
        *y *= 2.0;
    }
}
