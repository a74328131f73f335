use cuda_std::prelude::*;

#[kernel(cooperative = true)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
