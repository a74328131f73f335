//! CUDA C++: an atomic number through a pointer.

use cuda_std::prelude::*;

#[kernel]
pub fn count(counts: &[Atomic<u32>]) {
    *counts[0] = 0;
    let first = *counts[1];
}
