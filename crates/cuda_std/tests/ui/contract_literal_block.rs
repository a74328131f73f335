use cuda_std::prelude::*;

#[kernel(block = 0)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
