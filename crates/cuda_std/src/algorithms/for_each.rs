//! Every element of a slice once, in vectors, shared out among all threads of the grid.

use crate::array::output::Words;
use crate::device::thread::{block_dim_x, block_idx_x, grid_dim_x, thread_idx_x};

/// Vectors that a thread asks for before it needs the first.
const AHEAD: usize = 2;

/// Calls `work` with each element that is the thread's when a 1-D grid of any size shares out `x`: vectors of `V` elements,
/// 16 bytes, that are a grid apart, and singly what lies before and behind the whole vectors.
///
/// ```
/// use cuda_std::algorithms::for_each;
/// use cuda_std::prelude::*;
///
/// /// Adds to `sum` all bytes.
/// #[kernel]
/// pub fn sum_bytes(x: &[u8], sum: &[Atomic<u32>]) {
///     let mut own = 0;
///     for_each::<u8, 16>(x, |x| own += u32::from(x));
///     sum[0].fetch_add(own);
/// }
///
/// # fn main() {
/// let mut sum = [0];
/// examples::launch((2, 32), sum_bytes(&[3; 10_001], &mut sum));
/// assert_eq!(sum, [30_003]);
/// # examples::becomes("sum_bytes", &["ld.global.v4.b32"]);
/// # }
/// ```
#[inline(always)]
pub fn for_each<T: bytemuck::Pod, const V: usize>(x: &[T], mut work: impl FnMut(T)) {
    const { assert!(V * size_of::<T>() == 16, "`V` elements are 16 bytes") };
    // SAFETY: a vector is an array of elements, with an alignment.
    let (first, vectors, last) = unsafe { x.align_to::<Words<T, V>>() };
    let step = grid_dim_x() as usize * block_dim_x() as usize;
    let start = block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize;
    let mut i = start;
    while i + (AHEAD - 1) * step < vectors.len() {
        // SAFETY: at most the last of these, which is inside.
        let ahead: [Words<T, V>; AHEAD] = core::array::from_fn(|k| unsafe { *vectors.get_unchecked(i + k * step) });
        for vector in &ahead {
            vector.0.iter().for_each(|value| work(*value));
        }
        i += AHEAD * step;
    }
    while i < vectors.len() {
        vectors[i].0.iter().for_each(|value| work(*value));
        i += step;
    }
    for rest in [first, last] {
        if let Some(value) = rest.get(start) {
            work(*value);
        }
    }
}
