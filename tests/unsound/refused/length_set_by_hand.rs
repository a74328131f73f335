//! The length of an output, set behind its back.
use cuda_std::prelude::*;

#[kernel]
pub fn fill(value: u32, mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = value;
    }
}

fn main() {
    let mut y = [0_u32; 4];
    let mut call = fill(7, &mut y);
    call.arguments_mut().set_address(2, 1 << 20);
}
