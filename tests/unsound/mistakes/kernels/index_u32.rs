//! CUDA C++: an index of 32 bits.

use cuda_std::prelude::*;

#[kernel]
pub fn scale(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = thread::index_1d();
    if let Some(y) = y.own() {
        *y = x[i];
    }
}
