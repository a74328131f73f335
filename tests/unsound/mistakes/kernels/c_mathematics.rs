//! CUDA C++: `sqrtf(x)`, `fmaxf(x, y)`, `__expf(x)`

use cuda_std::prelude::*;

#[kernel]
pub fn roots(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y = sqrtf(*y) + fmaxf(*y, 0.0) + __expf(*y) + rsqrtf(*y);
    }
}
