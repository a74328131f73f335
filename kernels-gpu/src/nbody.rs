//! Gravity between all pairs of bodies: much arithmetic for each byte.
//!
//! Each thread has a body and goes through all others. A block reads [`TILE`] bodies at a time into shared memory, and
//! its threads walk through them in step: all read the same body at the same time, which shared memory serves at once.
//! The root is one instruction, [`approx::rsqrt`], whose error is far below that of the sum.

use cuda_std::float::approx;
use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// Bodies that a block has in shared memory at a time.
pub const TILE: usize = 256;

/// `acceleration[i]` is what gravity does to body `i`: x, y, z, and 0.
///
/// A body is x, y, z and its mass times the constant of gravity. `softening` is added to the square of distances, so that
/// bodies may meet, and a body does nothing to itself. Launch it with a thread for each body, in one dimension, with blocks
/// of [`TILE`] threads.
#[kernel(block = TILE)]
pub fn nbody(
    bodies: &[Vector4<f32>],
    softening: f32,
    mut acceleration: DisjointSlice<Vector4<f32>>,
    mut tile: Shared<Tile<Vector4<f32>, TILE>>,
) {
    let body = |index: usize| bodies.get(index).copied().unwrap_or_default();
    let [x, y, z, _] = body(grid::<1>().get()).0;
    let mut sum = [0.0; 3];
    for start in (0..bodies.len()).step_by(TILE) {
        // Beyond the last body there is one without mass.
        *tile.own() = body(start + thread::thread_idx_x() as usize);
        let others = tile.sync();
        // In eights, so that several roots are under way at once.
        for eight in others.as_chunks::<8>().0 {
            for &Vector4([other_x, other_y, other_z, mass]) in eight {
                let d = [other_x - x, other_y - y, other_z - z];
                let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + softening;
                let inverse = approx::rsqrt(square);
                let pull = mass * inverse * inverse * inverse;
                sum = [sum[0] + pull * d[0], sum[1] + pull * d[1], sum[2] + pull * d[2]];
            }
        }
        tile = others.sync();
    }
    if let Some(own) = acceleration.own() {
        *own = Vector4([sum[0], sum[1], sum[2], 0.0]);
    }
}
