//! Two arrays in, one out: each thread combines the two elements at its own index.
//!
//! [`grid::<1>()`](grid) is the thread's position in the whole launch. As an index of an input it is
//! checked, as any index in Rust is; for the output it is the key to the thread's own element.

use cuda_std::prelude::*;

/// `out[i] = a[i] * b[i]`
///
/// Launch it with at least as many threads as `out` has elements, in one dimension. `a` and `b` are
/// at least as long.
#[kernel]
pub fn multiply(a: &[f32], b: &[f32], mut out: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(out) = out.get_mut(i) {
        *out = a[i] * b[i];
    }
}

/// `out[i] = a[i] + b[i]`
///
/// Launch it as [`multiply`].
#[kernel]
pub fn add(a: &[f32], b: &[f32], mut out: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(out) = out.get_mut(i) {
        *out = a[i] + b[i];
    }
}
