//! Shared memory has no initial value, so reading a static without `mut` would not give its initialiser.
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
