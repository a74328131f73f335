use cuda_std::prelude::*;

#[kernel(dynamic_shared = -1)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
