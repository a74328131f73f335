//! Numba: `grid(1)`, and `grid()`

use cuda_std::prelude::*;

#[kernel]
pub fn scale(mut y: DisjointSlice<f32>) {
    let i = grid(1);
    let j = grid();
}
