//! Tiles so high that their number of rows wraps.
use cuda_std::prelude::*;

#[kernel]
pub fn write(mut y: Disjoint<u32, Tiles<0x5555_5555_5555_5556, 1>>) {
    y.each(|_, y| *y += 1);
}

fn main() {}
