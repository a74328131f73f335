//! A function of the host is no function of the device.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: fn(u32) -> u32, mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
