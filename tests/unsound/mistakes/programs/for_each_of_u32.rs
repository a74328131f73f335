//! CUDA C++: a length of 32 bits.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, n: u32, y: &mut Vec<f32>) -> rumba::Result<()> {
    module.for_each(n, scale(2.0, y))
}

fn main() {}
