//! Rust: an ordering, as the core library's atomics take.

use core::sync::atomic::Ordering;

use cuda_std::prelude::*;

#[kernel]
pub fn histogram(x: &[u32], counts: &[Atomic<u32>]) {
    let i = grid::<1>();
    if i < x.len() {
        counts[x[i] as usize].fetch_add(1, Ordering::Relaxed);
    }
}
