//! Two outputs of one element each.
use cuda_std::prelude::*;

#[kernel]
pub fn write(y: DisjointSlice<u32>) {
    let mut other = y.clone();
    let _ = other.own();
}

fn main() {}
