use cuda_std::prelude::*;

#[kernel(block = 256, max_threads = 256)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
