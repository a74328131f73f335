//! Bytes of the device are not always a `char`.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: &[char], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

type Letter = char;

#[kernel]
pub fn take_by_an_alias(x: &[Letter], mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
