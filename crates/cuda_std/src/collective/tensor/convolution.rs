//! Whole convolutions, for kernels that add what becomes of the sums.

use core::ops::Range;

use super::im2col::Im2colMap;
use super::map::TensorMap;
use super::output::TileOrigin;
use super::pipeline::{Producer, TensorPipeline};
use super::product::{Results, compute};
use super::tile::{Factor, Operand, StageTile, Swizzled};
use super::width::{Columns, Width};

/// The registers of a thread in the roles: of the producer's warp group, which counts taps, of one warp group of consumers, and of
/// each of two.
const LOW: u32 = 56;
const ONE: u32 = 216;
const TWO: u32 = 224;

/// Computes a convolution as the [`product`](super::product()) of what the filter sees at each place and the filter: what
/// `result` makes of place, output and sum is written. All of a kernel that has nothing else to do; all threads of the block come
/// here.
///
/// The filter is a matrix with a row for each output and a column for each channel of each tap, those of the first tap before
/// those of the second. The results are one with a row for each place and a column for each output; a tile has 64 places for
/// each warp group of consumers, and as many outputs as an accumulator has columns.
///
/// A step of the sum is `INNER` channels of a tap. Where channels are no multiple of that, the last step of a tap has zeros from the
/// image, and finite numbers or zeros from the filter: the next tap's, or beyond its end.
///
/// Blocks of a cluster lie below each other and have the filter's tile in common, or compute parts of the same sums.
///
/// ```no_run
/// use cuda_std::half::f16;
/// use cuda_std::prelude::*;
/// use cuda_std::tensor::{
///     Im2colMap, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling, convolution,
/// };
///
/// /// Each output is at least 0.
/// #[kernel(block = 384, min_blocks = 1, cluster = 2)]
/// pub fn layer(
///     images: Im2colMap<Swizzled<f16, 128, 64>>,
///     filter: TensorMap<Swizzled<f16, 64, 64>>,
///     output: TensorOutput<Swizzled<f16, 16, 64>, Tiling<128, 128, 64, 2>>,
///     stages: TensorPipeline<(Swizzled<f16, 128, 64>, Multicast<Swizzled<f16, 128, 64>>), 6, 2, 2>,
///     staging: TensorStaging<Swizzled<f16, 16, 64>, 2>,
/// ) {
///     convolution((images, filter), stages, (output, staging), |_place, _output, sum: f32| sum.max(0.0));
/// }
/// # fn main() {}
/// ```
///
/// # Panics
/// As [`product`](super::product()).
#[inline(always)]
pub fn convolution<
    T,
    V,
    A,
    B,
    R,
    const A_ROWS: usize,
    const B_ROWS: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const INNER: usize,
    const STAGES: usize,
    const GROUPS: u32,
    const CLUSTER: u32,
>(
    (images, filter): (Im2colMap<'_, Swizzled<T, A_ROWS, INNER>>, TensorMap<'_, Swizzled<T, B_ROWS, INNER>>),
    stages: TensorPipeline<'_, (A, B), STAGES, GROUPS, CLUSTER>,
    results: R,
    result: impl Fn(u32, u32, f32) -> V,
) where
    T: Factor<Sum = f32>,
    A: StageTile<Tile: Operand<T, ROWS, INNER>>,
    B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    R: Results<V, f32, ROWS, COLUMNS, GROUPS>,
    Columns<COLUMNS>: Width,
{
    images.prefetch();
    filter.prefetch();
    let channels = images.channels();
    let [down, right] = images.taps();
    let depths = channels.div_ceil(INNER as u32).max(1);
    let bring = |producer: &mut Producer<'_, (A, B), STAGES, CLUSTER>, place: TileOrigin, steps: Range<u32>| {
        let pixels = images.at(place.row);
        let tap = steps.start / depths;
        let (mut r, mut s, mut depth) = (tap / right.max(1), tap % right.max(1), steps.start % depths);
        // The filter's column of the tap.
        let mut first = tap * channels;
        for _ in steps {
            let channel = depth * INNER as u32;
            let filter = filter.at([place.column, first + channel]);
            producer.acquire().fill::<T>(pixels.tap([r, s], channel), filter);
            depth += 1;
            if depth == depths {
                depth = 0;
                first += channels;
                s += 1;
                if s == right {
                    s = 0;
                    r += 1;
                }
            }
        }
    };
    let (steps, result) = (down * right * depths, |[_, place, output]: [u32; 3], sum| result(place, output, sum));
    if GROUPS == 1 {
        compute::<T, _, _, _, _, _, ROWS, COLUMNS, INNER, STAGES, GROUPS, CLUSTER, LOW, ONE>(
            stages, results, steps, bring, result,
        );
    } else {
        compute::<T, _, _, _, _, _, ROWS, COLUMNS, INNER, STAGES, GROUPS, CLUSTER, LOW, TWO>(
            stages, results, steps, bring, result,
        );
    }
}
