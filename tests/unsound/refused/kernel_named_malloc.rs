//! A kernel of this name is what the heap would call.
use cuda_std::prelude::*;

#[kernel]
pub fn malloc(mut y: DisjointSlice<u32>) {
    let _ = y.own();
}

fn main() {}
