//! Rust: `std::f32::consts::PI`

use cuda_std::prelude::*;

#[kernel]
pub fn angles(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= std::f32::consts::PI;
    }
}
