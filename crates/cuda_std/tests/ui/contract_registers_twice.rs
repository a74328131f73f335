use cuda_std::prelude::*;

#[kernel(block = 256, min_blocks = 2, max_registers = 64)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
