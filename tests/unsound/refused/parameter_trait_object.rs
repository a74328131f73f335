//! A vtable of the host is invalid on the device.
use cuda_std::prelude::*;

#[kernel]
pub fn take(x: &dyn core::fmt::Debug, mut y: DisjointSlice<u32>) {
    let _ = (x, y.own());
}

fn main() {}
