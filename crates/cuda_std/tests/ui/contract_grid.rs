use cuda_std::prelude::*;

#[kernel(grid = 4)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
