//! CUDA C++: `atomicAdd(&counts[x[i]], 1);`

use cuda_std::prelude::*;

#[kernel]
pub fn histogram(x: &[u32], counts: &[Atomic<u32>]) {
    let i = grid::<1>();
    if i < x.len() {
        atomicAdd(&counts[x[i] as usize], 1);
    }
}

#[kernel]
pub fn largest(x: &[u32], most: &[Atomic<u32>]) {
    atomicMax(&most[0], x[grid::<1>()]);
    atomicCAS(&most[1], 0, 1);
}
