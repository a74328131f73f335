//! CUDA C++ and Rust: a kernel that calls another as a function.

use cuda_std::prelude::*;

#[kernel]
pub fn child(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

#[kernel]
pub fn parent(y: DisjointSlice<f32>) {
    child(2.0, y);
}
