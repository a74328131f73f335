//! Kernels of the scenarios: small, each for one feature of the runtime.

use cuda_std::prelude::*;

cuda_std::constant! {
    /// The factor of [`gain`].
    pub static GAIN: u32 = 3;
}

/// `y[i] = GAIN * x[i]`
#[kernel]
pub fn gain(x: &[u32], mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = *GAIN * x[i];
    }
}

/// `y[i] = 2 * x[i]`; a thread panics whose number is not below the limit.
#[kernel]
pub fn below(x: &[u32], limit: u32, mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        assert!(x[i] < limit, "a number is too large");
        *y = 2 * x[i];
    }
}

/// `y[i] += x[i]`
#[kernel]
pub fn add(x: &[u32], mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = y.wrapping_add(x[i]);
    }
}
