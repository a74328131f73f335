//! Shared memory has no initial value: a `bool` there becomes an index out of bounds.
use cuda_std::prelude::*;

#[cuda_std::address_space(shared)]
static X: [bool; 4] = [true, false, true, false];

#[kernel]
pub fn read(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = u32::from(X[1]);
    }
}

fn main() {}
