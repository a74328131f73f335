//! A table of the host's functions is none of the device's.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: &dyn core::fmt::Debug, mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
