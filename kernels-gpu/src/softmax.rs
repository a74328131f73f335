//! Softmax: each row of a matrix becomes positive numbers that add up to 1.
//!
//! A row needs its largest element and then the sum of all exponentials before the first result can be written. A warp
//! takes a row into its registers, so that it is read once and written once, and the lanes exchange what they have found
//! without shared memory and without a barrier. Subtracting the largest element keeps the exponentials from overflowing.

use cuda_std::float::approx;
use cuda_std::prelude::*;
use cuda_std::vector::Vector4;

/// Vectors of a row that a lane has in registers.
const VECTORS: usize = 8;
/// The most columns of a matrix.
pub const COLUMNS: usize = 4 * VECTORS * warp::WARP_SIZE as usize;

/// In each row, `y[i] = exp(x[i]) / sum of exp(x[k])`.
///
/// Rows are counted in fours and have at most [`COLUMNS`] elements. Launch it in one dimension, with blocks of whole warps;
/// a grid with fewer warps than rows goes around several times. `x` has the same shape as `y`.
#[kernel]
pub fn softmax(x: &[Vector4<f32>], mut y: Disjoint<Vector4<f32>, Rows<ByWarp>>) {
    let columns = y.columns();
    assert!(columns <= COLUMNS / 4, "a row has more columns than a warp has registers for");
    y.each_row(|row, mut y| {
        let x = &x[row * columns..][..columns];
        // Beyond the end of the row is what counts for nothing.
        let nothing = Vector4([f32::NEG_INFINITY; 4]);
        let own: [Vector4<f32>; VECTORS] = y.indices().map(|column| x.get(column).copied().unwrap_or(nothing));

        let largest = own.iter().flat_map(|x| x.0).fold(f32::NEG_INFINITY, GpuFloat::max);
        let largest = warp::reduce(largest, GpuFloat::max);
        let powers = own.map(|x| Vector4(x.map(|x| approx::exp(x - largest))));
        let sum: f32 = powers.iter().flat_map(|x| x.0).sum();
        let scale = 1.0 / warp::reduce_sum(sum);
        y.store_with::<VECTORS>(|k, _| Vector4(powers[k].map(|power| power * scale)));
    });
}
