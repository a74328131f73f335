use cuda_std::prelude::*;

#[kernel(min_blocks = 2)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
