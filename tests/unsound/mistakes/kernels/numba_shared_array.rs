//! Numba: `tile = cuda.shared.array(256, float32)`, `cuda.syncthreads()`

use cuda_std::prelude::*;

#[kernel]
pub fn reverse(mut y: DisjointSlice<f32>) {
    let tile = cuda.shared.array(256, float32);
    cuda.syncthreads();
    if let Some(y) = y.own() {
        *y = tile[0];
    }
}
