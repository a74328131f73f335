//! Reduction: many numbers in, one sum for each block out.
//!
//! Three levels, from cheap to dear. Each thread adds up elements in fours that are a grid apart: neighbouring threads
//! read neighbouring elements, and four reads are under way at once, into four sums. Each warp adds up its 32 threads by exchanging
//! registers, without memory. The warps of a block meet in shared memory. The host, or a second
//! launch, adds up the few sums that remain.
//!
//! This writes the levels out, as in Luitjens, "Faster Parallel Reductions on Kepler" (NVIDIA Technical Blog, 2014). The library's reduction, [`cuda_std::algorithms::reduce`], takes any operator and ends in one
//! result: its blocks count themselves, and the last of them combines what all have published.

use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// `sums[block]` is the sum of the elements that the block's threads were given; all of `sums`
/// together are the sum of `x`.
///
/// Launch it in one dimension, with as many blocks as `sums` has elements and any block size: a grid
/// smaller than `x` goes around several times. The result does not depend on luck: it is the same
/// each time for the same launch.
#[kernel]
pub fn reduce(x: &[f32], mut sums: Disjoint<f32, PerBlock>, mut warps: Shared<PerWarp<f32>>) {
    let (first, fours, last) = bytemuck::pod_align_to::<f32, Vector4<f32>>(x);
    let mut four = [0.0; 4];
    for i in grid_stride(fours.len()) {
        for (sum, x) in four.iter_mut().zip(fours[i].0) {
            *sum += x;
        }
    }
    let mut sum = (four[0] + four[1]) + (four[2] + four[3]);
    // A part of a larger array may start and end within a vector.
    for rest in [first, last] {
        for i in grid_stride(rest.len()) {
            sum += rest[i];
        }
    }

    let sum = warp::reduce_sum(sum);
    if let Some(own) = warps.own() {
        *own = sum;
    }
    let warps = warps.sync();

    let lane = warp::lane_id();
    let sum = if lane < warp::warps_in_block() { warps[lane as usize] } else { 0.0 };
    let sum = warp::reduce_sum(sum);
    if let Some(total) = sums.own() {
        *total = sum;
    }
}
