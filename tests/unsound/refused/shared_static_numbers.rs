//! Shared memory has no initial value, so that a static which is not `mut` would read as what it is not.
use cuda_std::prelude::*;

#[cuda_std::address_space(shared)]
static X: [u32; 4] = [1, 2, 3, 4];

#[kernel]
pub fn read(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = X[1];
    }
}

fn main() {}
