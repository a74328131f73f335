//! Rust: `x.sqrt()` without the trait.

use cuda_std::kernel;
use cuda_std::DisjointSlice;

#[kernel]
pub fn roots(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y = y.sqrt() + y.sin() + y.exp() + y.powf(2.0);
    }
}
