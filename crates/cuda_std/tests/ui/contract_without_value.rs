use cuda_std::prelude::*;

#[kernel(block)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
