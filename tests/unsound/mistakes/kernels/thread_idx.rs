//! CUDA C++: `int i = blockIdx.x * blockDim.x + threadIdx.x;`

use cuda_std::prelude::*;

#[kernel]
pub fn scale(mut y: DisjointSlice<f32>) {
    let i = blockIdx.x * blockDim.x + threadIdx.x;
    if i < y.len() {
        *y.own().unwrap() *= 2.0;
    }
}
