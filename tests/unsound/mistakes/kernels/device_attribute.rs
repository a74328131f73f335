//! CUDA C++: `__device__`, Numba: `@cuda.jit`

use cuda_std::prelude::*;

#[device]
fn square(x: f32) -> f32 {
    x * x
}

#[global]
pub fn squares(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y = square(*y);
    }
}

#[cuda::jit]
pub fn cubes(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y = *y * square(*y);
    }
}
