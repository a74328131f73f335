//! Monte Carlo: π from random points in a square.
//!
//! If points are spread evenly over the unit square, π/4 of them lie in the quarter of a circle. The kernel reads
//! nothing: each thread has its own stream of random numbers, by the thread's index alone, and the streams are the same
//! on the host. Each warp adds up its hits in registers, and one of its threads adds the sum to the result.

use cuda_std::prelude::*;
use cuda_std::random::philox4x32_10;

/// Adds to `hits` how many of `2 * steps` points of each thread lie in the circle.
///
/// Launch it in one dimension, with blocks of whole warps. `hits` has one element.
#[kernel]
pub fn pi(seed: u32, steps: u32, hits: &[Atomic<u64>]) {
    let stream = thread::index_1d();
    let mut count = 0;
    for step in 0..steps {
        count += points_in_circle(seed, stream, step);
    }
    let count = warp::reduce_sum(count);
    if warp::lane_id() == 0 {
        hits[0].fetch_add(u64::from(count));
    }
}

/// How many of the two points of a step lie in the circle: 0, 1 or 2. The host calls it too.
///
/// Philox makes four random words of the stream's number and the step's: there is no state to keep.
#[must_use]
#[inline]
pub fn points_in_circle(seed: u32, stream: u32, step: u32) -> u32 {
    let [a, b, c, d] = philox4x32_10([step, stream, 0, 0], [seed, 0]);
    u32::from(in_circle(a, b)) + u32::from(in_circle(c, d))
}

/// Whether the point lies in the circle, when a word goes from 0 to below 1. A word's upper 16 bits are enough: the sum of
/// their squares is exact but for a carry, and the carry is what says that the point is outside.
fn in_circle(x: u32, y: u32) -> bool {
    let (x, y) = (x >> 16, y >> 16);
    !(x * x).overflowing_add(y * y).1
}
