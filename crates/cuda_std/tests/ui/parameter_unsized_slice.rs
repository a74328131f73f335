use cuda_std::prelude::*;

#[kernel]
pub fn fill(x: [f32], mut y: DisjointSlice<f32>) {
    let _ = (x, y.own());
}

fn main() {}
