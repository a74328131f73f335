//! A pointer says nothing about what it points to: a kernel that takes one is `unsafe`.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: *mut u32, mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
