//! Rust: a dependency that needs the standard library.
//! dependency: needs_std = { path = "needs_std" }

use cuda_std::prelude::*;

#[kernel]
pub fn noise(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y = needs_std::noise();
    }
}
