//! An output that another lane gets would be written by two threads.
use cuda_std::prelude::*;

#[kernel]
pub fn exchange(y: DisjointSlice<u32>) {
    let _other = warp::shuffle_xor(y, 1);
}

fn main() {}
