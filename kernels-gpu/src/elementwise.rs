//! Two arrays in, one out: each thread combines the elements at the indices of its own.
//!
//! The lengths are compared once for all of a thread's elements. The old elements of `out` are not read: the work
//! overwrites them, and the compiler sees it.

use cuda_std::prelude::*;

/// `out[i] = a[i] * b[i]`
///
/// Launch it with a thread for each four elements of `out`, in one dimension. `a` and `b` are at least as long.
#[kernel]
pub fn multiply(a: &[f32], b: &[f32], mut out: Disjoint<f32, Striped<4>>) {
    out.each_with((a, b), |out, (a, b)| *out = a * b);
}

/// `out[i] = a[i] + b[i]`
///
/// Launch it as [`multiply`].
#[kernel]
pub fn add(a: &[f32], b: &[f32], mut out: Disjoint<f32, Striped<4>>) {
    out.each_with((a, b), |out, (a, b)| *out = a + b);
}
