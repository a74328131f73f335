//! The first kernel: add 1 to every element.
//!
//! A loop over an array becomes a launch with many threads, and each does the work for a few elements: those that
//! a [`Striped`] output gives it. The loop variable is gone. Four elements for each thread keep enough memory accesses
//! under way to use all of a GPU's bandwidth; `thread_indexing` has kernels of one element per thread.

use cuda_std::prelude::*;

/// `a[i] += 1` for every `i`, in single precision.
///
/// Launch it with a thread for each four elements, in one dimension. Blocks have a fixed size, so there are usually a few
/// threads too many: they get no element and do nothing.
#[kernel]
pub fn increment_f32(mut a: Disjoint<f32, Striped<4>>) {
    a.each(|_, a| *a += 1.0);
}

/// [`increment_f32`] in double precision.
#[kernel]
pub fn increment_f64(mut a: Disjoint<f64, Striped<4>>) {
    a.each(|_, a| *a += 1.0);
}
