#![deny(unused_must_use)]

use cuda_std::prelude::*;

#[kernel]
pub fn fill(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {
    let mut y = vec![0.0_f32; 4];
    fill(&mut y);
}
