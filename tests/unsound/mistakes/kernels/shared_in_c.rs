//! CUDA C++: `__shared__ float tile[256];`

use cuda_std::prelude::*;

#[kernel]
pub fn reverse(mut y: DisjointSlice<f32>) {
    __shared__ let tile = [0.0_f32; 256];
    let _ = y.own();
}
