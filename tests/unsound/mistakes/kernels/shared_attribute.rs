//! CUDA C++: `__shared__ float tile[256];`

use cuda_std::prelude::*;

#[kernel]
pub fn reverse(mut y: DisjointSlice<f32>) {
    #[shared]
    static mut TILE: [f32; 256] = [0.0; 256];
    if let Some(y) = y.own() {
        *y = 1.0;
    }
}
