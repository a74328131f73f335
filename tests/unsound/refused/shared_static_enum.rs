//! Shared memory has no initial value: an enum there has any bits.
use cuda_std::prelude::*;

#[cuda_std::address_space(shared)]
static X: core::cmp::Ordering = core::cmp::Ordering::Less;

#[kernel]
pub fn read(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = X as u32;
    }
}

fn main() {}
