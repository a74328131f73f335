//! A reference to host memory is invalid on the device.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: &[&u32], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

type Reference = &'static u32;

#[kernel]
pub fn take_by_an_alias(x: &[Reference], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
