//! Shared memory behind a `static mut` is every thread's: using it needs `unsafe`.
use cuda_std::prelude::*;

#[cuda_std::address_space(shared)]
static mut X: [u32; 64] = [0; 64];

#[kernel]
pub fn write(mut y: DisjointSlice<u32>) {
    X[0] = 1;
    if let Some(y) = y.own() {
        *y = X[1];
    }
}

fn main() {}
