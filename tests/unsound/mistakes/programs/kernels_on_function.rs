//! Rust: `#[rumba::kernels]` on a kernel.

use cuda_std::prelude::*;

#[rumba::kernels]
pub fn scale(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= 2.0;
    }
}

fn main() {}
