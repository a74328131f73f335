use cuda_std::prelude::*;

#[kernel(colour = 3)]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
