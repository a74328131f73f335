//! CUDA C++: `__syncthreads();`

use cuda_std::prelude::*;

#[kernel]
pub fn reverse(mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
    *tile.own() = 1.0;
    __syncthreads();
    if let Some(y) = y.own() {
        *y = 1.0;
    }
}
