//! CUDA C++: the index of the thread as a number.

use cuda_std::prelude::*;

#[kernel]
pub fn count(mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.own() {
        *y = i as u32;
    }
}
