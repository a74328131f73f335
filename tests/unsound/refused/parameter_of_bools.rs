//! Bytes of the device are not always a `bool`.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: &[bool], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

type Flag = bool;

#[kernel]
pub fn take_by_an_alias(x: &[Flag], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
