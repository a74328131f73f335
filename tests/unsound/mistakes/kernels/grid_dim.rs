//! CUDA C++: a grid-stride loop.

use cuda_std::prelude::*;

#[kernel]
pub fn sum(x: &[f32], total: &[Atomic<f32>]) {
    let mut i = thread::index_1d() as usize;
    while i < x.len() {
        total[0].fetch_add(x[i]);
        i += (blockDim.x * gridDim.x) as usize;
    }
}
