//! Rust: the runtime in the crate of kernels.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(mut y: DisjointSlice<f32>) {
    let device = Device::new();
}
