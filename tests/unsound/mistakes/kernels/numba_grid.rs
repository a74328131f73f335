//! Numba: `i = cuda.grid(1)`

use cuda_std::prelude::*;

#[kernel]
pub fn scale(mut y: DisjointSlice<f32>) {
    let i = cuda.grid(1);
    if let Some(y) = y.get_mut(i) {
        *y *= 2.0;
    }
}
