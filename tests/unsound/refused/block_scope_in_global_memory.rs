//! Atomics of a block's scope are a race where several blocks meet.
use cuda_std::prelude::*;

#[kernel]
pub fn count(x: &[Atomic<u32>]) {
    x[0].block().fetch_add(1, core::sync::atomic::Ordering::Relaxed);
}

fn main() {}
