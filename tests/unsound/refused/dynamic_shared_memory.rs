//! Dynamic shared memory as a raw slice is every thread's.
use cuda_std::prelude::*;

#[kernel]
pub fn write(mut y: DisjointSlice<u32>) {
    let all: &mut [u32] = &mut *cuda_std::shared::dynamic_shared_slice::<u32>();
    if let Some(y) = y.own() {
        *y = all[0];
    }
}

fn main() {}
