//! The kernel of the example in the documentation of `rumba-nn`.

use cuda_std::prelude::*;

/// `y[i] = x[i] / (1 + |x[i]|)`, an element for each thread. `x` is as long as `y`.
#[kernel]
pub fn softsign(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = x[i] / (1.0 + x[i].abs());
    }
}
