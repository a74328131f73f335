//! CUDA C++: a neighbor by an index with a sign.

use cuda_std::prelude::*;

#[kernel]
pub fn difference(x: &[f32], mut y: DisjointSlice<f32>) {
    let i: i32 = thread::index_1d() as i32;
    if let Some(y) = y.own() {
        *y = x[i] - x[i - 1];
    }
}
