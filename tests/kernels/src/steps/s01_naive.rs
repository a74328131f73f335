//! Step 1: a thread for each element of the product, which reads a row and a column from global memory.

// ANCHOR: kernel
use cuda_std::half::f16;
use cuda_std::prelude::*;

/// c = a bᵀ. Launch it in two dimensions, x for columns.
#[kernel]
pub fn naive(a: &[f16], b: &[f16], inner: u32, mut c: Disjoint<f32, PerThread<2>>) {
    let (i, inner) = (grid::<2>(), inner as usize);
    if let Some(c) = c.get_mut(i) {
        let row = &a[i.y() * inner..][..inner];
        let column = &b[i.x() * inner..][..inner];
        *c = row.iter().zip(column).map(|(a, b)| a.to_f32() * b.to_f32()).sum();
    }
}
// ANCHOR_END: kernel
