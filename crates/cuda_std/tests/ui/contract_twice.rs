use cuda_std::prelude::*;

#[kernel(block = 256, min_blocks = 2, block = 128)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
