//! A lane that has exited gives any bits, of which a `bool` has only two.
use cuda_std::prelude::*;

#[kernel]
pub fn exchange(mut y: DisjointSlice<u32>) {
    let flag = warp::shuffle_xor(true, 1);
    if let Some(y) = y.own() {
        *y = u32::from(flag);
    }
}

fn main() {}
