//! CUDA C++: the functions of a warp.

use cuda_std::prelude::*;

#[kernel]
pub fn sums(x: &[f32], mut y: DisjointSlice<f32>) {
    let mut sum = x[grid::<1>()];
    sum += __shfl_down_sync(0xffff_ffff, sum, 16);
    let full = __ballot_sync(0xffff_ffff, sum > 0.0);
    __syncwarp();
    let lane = thread::thread_idx_x() % warpSize;
    if let Some(y) = y.own() {
        *y = sum + (full + lane) as f32;
    }
}
