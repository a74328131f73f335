//! Shared memory has no initial value: a reference there points anywhere.
use cuda_std::prelude::*;

#[cuda_std::address_space(shared)]
static X: &u32 = &7;

#[kernel]
pub fn read(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = *X;
    }
}

fn main() {}
