use cuda_std::prelude::*;

#[kernel(cluster = 16)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
