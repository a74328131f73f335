//! CUDA C++ and Numba: names of types.

use cuda_std::prelude::*;

#[kernel]
pub fn scale(n: int, factor: float, mut y: DisjointSlice<float4>) {
    let half: float32 = 0.5;
    let big: double = 1.0;
}
