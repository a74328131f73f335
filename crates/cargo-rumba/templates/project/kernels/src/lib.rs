//! The kernels. This crate is compiled twice: to PTX, where each `#[kernel]` is an entry, and for the host, where each is a
//! function of the same name that binds typed arguments for a launch.
#![no_std]

use cuda_std::prelude::*;

/// `y[i] += a * x[i]`, one element for each thread.
///
/// `x` has at least the length of `y`. Launch it in one dimension, with a thread for each element of `y`; threads
/// beyond the end do nothing.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y += a * x[i];
    }
}
