use cuda_std::prelude::*;

#[kernel(block = (8, 8, 2, 2))]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
