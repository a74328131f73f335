//! The kernels, compiled for the device by the build script of the package above, and for the host as its dependency.

#![no_std]

use cuda_std::prelude::*;

/// Multiplies each element by `factor`.
#[kernel]
pub fn amplify(factor: f32, mut values: DisjointSlice<f32>) {
    if let Some(value) = values.get_mut(grid::<1>()) {
        *value *= factor;
    }
}
