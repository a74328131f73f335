//! Every thread would have the same `&mut`.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: &mut [u32], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
