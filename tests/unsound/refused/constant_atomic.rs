//! Constant memory cannot be written by a kernel.
use cuda_std::prelude::*;

#[cuda_std::address_space(constant)]
static X: Atomic<u32> = Atomic::new(0);

#[kernel]
pub fn read(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = X.load();
    }
}

fn main() {}
