//! A histogram: how often each value of a byte occurs.
//!
//! Where a byte is counted depends on the byte, so threads meet at the same counter, and the counters are
//! [`Atomic`]. Each block counts in shared memory, where that is cheap, and adds its counts to the result at the end: 256
//! additions to global memory for a block instead of one for each byte.
//!
//! This shows atomic numbers in shared memory with one counter for each value, as in Sakharnykh, "GPU Pro Tip: Fast Histograms
//! Using Shared Atomics on Maxwell" (NVIDIA Technical Blog, 2015). The library's histogram, in `crates/rumba-algorithms/src/histogram.rs`, has any number of
//! bins and several copies of each, so that lanes that count the same value do not wait for each other.

use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// Values of a byte.
pub const VALUES: usize = 256;

/// Adds to `counts[value]` how many of the bytes have that value. A thread reads 16 bytes at a time.
///
/// Launch it in one dimension, with blocks of [`VALUES`] threads; a grid smaller than the input goes around
/// several times. `counts` has [`VALUES`] elements.
#[kernel(block = VALUES)]
pub fn histogram(bytes: &[Vector4<u32>], counts: &[Atomic<u32>], mut local: Shared<Tile<Atomic<u32>, VALUES>>) {
    *local.own().get_mut() = 0;
    let shared = local.sync();
    for i in grid_stride(bytes.len()) {
        for word in bytes[i].0 {
            for byte in word.to_le_bytes() {
                shared[usize::from(byte)].fetch_add(1);
            }
        }
    }
    let mut local = shared.sync();
    counts[thread::thread_idx_x() as usize].fetch_add(*local.own().get_mut());
}
