//! A kernel of this name is what the compiler calls to clear memory.
use cuda_std::prelude::*;

#[kernel]
pub fn memset(mut y: DisjointSlice<u32>) {
    let _ = y.own();
}

fn main() {}
