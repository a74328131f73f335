//! CUDA C++: a kernel that launches another.

use cuda_std::prelude::*;

#[kernel]
pub fn child(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel]
pub fn parent(y: DisjointSlice<f32>) {
    child<<<1, 256>>>(y);
}
