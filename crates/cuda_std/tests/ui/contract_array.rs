use cuda_std::prelude::*;

#[kernel(block = [16, 16])]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
