//! Bytes of the device are not always a `char`.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: &[char], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
