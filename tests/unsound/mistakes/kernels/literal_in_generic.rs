//! Rust: a literal in a generic kernel.

use cuda_std::prelude::*;

#[kernel(T = [f32, f64])]
pub fn halve<T: GpuFloat + cuda_std::Element>(mut y: DisjointSlice<T>) {
    if let Some(y) = y.own() {
        *y = 0.5 * *y;
    }
}
