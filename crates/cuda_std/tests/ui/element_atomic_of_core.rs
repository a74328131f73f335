use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::prelude::*;

#[kernel]
pub fn histogram(x: &[u32], counts: &[AtomicU32]) {
    let i = grid::<1>();
    if i < x.len() {
        counts[x[i] as usize].fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {}
