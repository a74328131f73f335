//! An element by its number, which may be another thread's.
use cuda_std::prelude::*;

#[kernel]
pub fn write(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.get_mut(0) {
        *y = 1;
    }
}

fn main() {}
