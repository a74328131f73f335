//! Rust: the time.

use std::time::Instant;

use cuda_std::prelude::*;

#[kernel]
pub fn measure(mut y: DisjointSlice<f32>) {
    let start = Instant::now();
    std::thread::sleep(std::time::Duration::from_millis(1));
}
