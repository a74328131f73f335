//! CUDA C++: dimensions with a sign.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(module: &Module, n: i32, y: &mut Vec<f32>) -> rumba::Result<()> {
    let threads = 256;
    let blocks: i32 = (n + threads - 1) / threads;
    module.launch((blocks, threads), scale(2.0, y))
}

fn main() {}
