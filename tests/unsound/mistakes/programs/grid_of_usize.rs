//! CUDA C++: a grid computed from a length.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, y: &mut Vec<f32>) -> rumba::Result<()> {
    let blocks = y.len().div_ceil(256);
    module.launch((blocks, 256), scale(2.0, y))
}

fn main() {}
