//! Rust: the thread's own element without a test.

use cuda_std::prelude::*;

#[kernel]
pub fn scale(mut y: DisjointSlice<f32>) {
    *y.own() *= 2.0;
    y.own() = 1.0;
}
