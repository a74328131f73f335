//! The first kernel: add 1 to every element.
//!
//! A loop over an array becomes a launch with one thread for each element. The loop variable is
//! gone: a thread finds out who it is, and does the work for that element only.

use cuda_std::prelude::*;

/// `a[i] += 1` for every `i`, in single precision.
///
/// Launch it with at least as many threads as elements, in one dimension. Blocks have a fixed size,
/// so there are usually a few threads too many: they get no element and do nothing.
#[kernel]
pub fn increment_f32(mut a: DisjointSlice<f32>) {
    if let Some(a) = a.own() {
        *a += 1.0;
    }
}

/// [`increment_f32`] in double precision.
#[kernel]
pub fn increment_f64(mut a: DisjointSlice<f64>) {
    if let Some(a) = a.own() {
        *a += 1.0;
    }
}
