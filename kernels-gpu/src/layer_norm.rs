//! Layer normalisation: each row of a matrix gets mean 0 and variance 1, and then a scale and an offset for each column.
//!
//! As in [`softmax`](crate::softmax) a warp has a row in its registers. So the variance can be taken of what is left after
//! the mean is known, which loses no digits, and the row is still read only once. All rows use the same scales and
//! offsets, which stay in the cache.

use cuda_std::float::approx;
use cuda_std::prelude::*;
use cuda_std::vector::Vector4;
use cuda_std::view::View2;

/// Vectors of a row that a lane has in registers.
const VECTORS: usize = 8;
/// The most columns of a matrix.
pub const COLUMNS: usize = 4 * VECTORS * warp::WARP_SIZE as usize;

/// In each row, `y[i] = (x[i] - mean) / sqrt(variance + epsilon) * scale[i] + offset[i]`.
///
/// Rows are counted in fours and have at most [`COLUMNS`] elements; `scale` and `offset` are as long as a row. Launch it
/// in one dimension, with blocks of whole warps; a grid with fewer warps than rows goes around several times. `x` has the
/// same shape as `y`.
#[kernel]
pub fn layer_norm(
    x: &[Vector4<f32>],
    scale: &[Vector4<f32>],
    offset: &[Vector4<f32>],
    epsilon: f32,
    mut y: Disjoint<Vector4<f32>, Rows<ByWarp>>,
) {
    let columns = y.columns();
    assert!(columns <= COLUMNS / 4, "a row has more columns than a warp has registers for");
    let (scale, offset) = (&scale[..columns], &offset[..columns]);
    let x = View2::new(x, [y.rows(), columns]);
    let count = (4 * columns) as f32;
    y.each_row(|row, mut y| {
        let places: [usize; VECTORS] = y.indices();
        let own = places.map(|column| x.get([row, column]).copied().unwrap_or_default());
        let sum: f32 = own.iter().flat_map(|x| x.0).sum();
        let mean = warp::reduce_sum(sum) / count;

        let mut squares = 0.0;
        let own: [Vector4<f32>; VECTORS] = core::array::from_fn(|k| {
            // Beyond the end of the row there is nothing that could differ from the mean.
            let x = if places[k] < columns { own[k].map(|x| x - mean) } else { [0.0; 4] };
            squares += x.iter().map(|x| x * x).sum::<f32>();
            Vector4(x)
        });
        let factor = approx::rsqrt(warp::reduce_sum(squares) / count + epsilon);
        y.store_with::<VECTORS>(|k, column| {
            let (scale, offset) = (scale[column], offset[column]);
            Vector4(core::array::from_fn(|i| own[k][i] * factor * scale[i] + offset[i]))
        });
    });
}
