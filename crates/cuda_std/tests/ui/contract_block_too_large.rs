use cuda_std::prelude::*;

#[kernel(block = (64, 32))]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
