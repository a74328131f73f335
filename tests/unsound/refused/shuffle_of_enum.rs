//! The same of an enum.
use cuda_std::prelude::*;

use core::cmp::Ordering;

#[kernel]
pub fn exchange(mut y: DisjointSlice<u32>) {
    let order = warp::shuffle_xor(Ordering::Less, 1);
    if let Some(y) = y.own() {
        *y = order as u32;
    }
}

fn main() {}
