use cuda_std::prelude::*;

#[kernel]
pub fn fill((a, b): (f32, f32), [c, d]: [f32; 2], mut y: DisjointSlice<f32>) {
    let _ = (a, b, c, d, y.own());
}

fn main() {}
