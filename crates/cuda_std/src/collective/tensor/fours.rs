//! Results of products that are computed four neighbours at a time, from sums that pass through shared memory: operands
//! of the epilogue are read in order, and the code of the results occurs once, not once for each register.

use bytemuck::Pod;

use super::accumulator::{Accumulator, register_place};
use super::map::TensorMap;
use super::matrix::{MatrixOutput, MatrixTile};
use super::output::{Places, TensorStaging, TileOrigin, Tiling};
use super::pipeline::{Consumer, TensorPipeline};
use super::product::{Results, product, sealed};
use super::tile::{Factor, Operand, StageTile, Swizzled};
use super::width::{Columns, Number, Width};
use crate::collective::warp::FULL_MASK;
use crate::device::sync::sync_warp;
use crate::device::thread::lane_id;
use crate::device::warp_group;
use crate::device::wgmma::{self, Sums as _};

/// Columns whose sums are in shared memory at a time: 16 rows of these are what a warp has room for.
const PART: u32 = 64;

/// The output of such results, and the function that computes them.
struct Fours<'l, O, S, F, G, const GROUPS: u32> {
    output: MatrixOutput<'l, O, S>,
    staging: TensorStaging<'l, Swizzled<f32, 16, 32>, GROUPS>,
    reads_old: bool,
    beside: F,
    finish: G,
}

impl<
    N,
    O,
    X,
    F,
    G,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> Results<N, N, ROWS, COLUMNS, GROUPS> for Fours<'_, O, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>, F, G, GROUPS>
where
    N: Number,
    O: Pod,
    F: Fn([u32; 3]) -> X,
    G: Fn([N; 4], [O; 4], X) -> [O; 4],
    Columns<COLUMNS>: Width,
{
}

impl<
    N,
    O,
    X,
    F,
    G,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> sealed::Results<N, N, ROWS, COLUMNS, GROUPS> for Fours<'_, O, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>, F, G, GROUPS>
where
    N: Number,
    O: Pod,
    F: Fn([u32; 3]) -> X,
    G: Fn([N; 4], [O; 4], X) -> [O; 4],
    Columns<COLUMNS>: Width,
{
    const SLICES: u32 = 1;
    const CLUSTER: u32 = Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS>::CLUSTER;
    const WAITS: bool = true;

    #[inline(always)]
    fn initialise(&self) {}

    #[inline(always)]
    fn memory(&self) -> Option<u32> {
        Some(self.staging.base)
    }

    #[inline(always)]
    fn places(&self) -> Places<ROWS, COLUMNS> {
        self.output.places()
    }

    #[inline(always)]
    fn consume<T, A, B, const INNER: usize, const STAGES: usize, const CLUSTER: u32>(
        self,
        consumer: &mut Consumer<'_, (A, B), STAGES, GROUPS, CLUSTER>,
        steps: u32,
        _: &impl Fn([u32; 3], N) -> N,
    ) where
        T: Factor<Sum = N>,
        A: StageTile<Tile: Operand<T, ROWS, INNER>>,
        B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    {
        let first = 64 * consumer.rank();
        let mut sums = Accumulator::<COLUMNS, N>::zero();
        let Fours { output, staging, reads_old, beside, finish } = self;
        let writer = Writer { base: staging.base, reads_old, beside, finish };
        for tile in output.tiles() {
            sums.products(|products| {
                for _ in 0..steps {
                    products.add_rows(consumer.wait(), first);
                }
            });
            // Earlier launches may write the operands of the epilogue, and the old elements.
            consumer.wait_for_launches();
            writer.write(consumer, &tile, &sums);
        }
    }
}

/// Values that all tiles share.
struct Writer<F, G> {
    base: u32,
    reads_old: bool,
    beside: F,
    finish: G,
}

impl<F, G> Writer<F, G> {
    /// Writes the part of a tile that the warp group of `consumer` has the sums of: each warp its 16 rows.
    #[inline(always)]
    fn write<
        N,
        O,
        X,
        S,
        const STAGES: usize,
        const GROUPS: u32,
        const CLUSTER: u32,
        const ROWS: usize,
        const COLUMNS: usize,
    >(
        &self,
        consumer: &Consumer<'_, S, STAGES, GROUPS, CLUSTER>,
        tile: &MatrixTile<'_, O, ROWS, COLUMNS>,
        sums: &Accumulator<COLUMNS, N>,
    ) where
        N: Number,
        O: Pod,
        F: Fn([u32; 3]) -> X,
        G: Fn([N; 4], [O; 4], X) -> [O; 4],
        S: super::Stage,
        Columns<COLUMNS>: Width,
    {
        const {
            assert!(ROWS == 64 * GROUPS as usize, "a tile has 64 rows for each warp group of consumers");
            assert!(
                COLUMNS.is_multiple_of(PART as usize) && size_of::<N>() == 4,
                "a warp writes 64 columns of sums with 32 bits at a time"
            );
        }
        let lane = lane_id();
        let warp = consumer.warp();
        let buffer = self.base + warp * (16 * PART * 4);
        // The same columns of neighbouring rows are in different banks: columns are exchanged in eights.
        let place = |row: u32, column: u32| buffer + (row * PART + (column ^ (row % 4 * 8))) * 4;
        let (row, pair) = (lane / 4, lane % 4 * 2);
        let TileOrigin { batch, row: top, column: left } = tile.place();
        let mut part = 0;
        while part < COLUMNS as u32 / PART {
            sums.sums.pairs(|register, low, high| {
                // A thread has as many sums of a part as it has columns, by two rows, four threads having a row.
                if register as u32 / (PART / 2) == part {
                    let [down, right] = register_place(register);
                    let (low, high) = (bytemuck::cast(low), bytemuck::cast(high));
                    // SAFETY: the warp's memory, which it does not read now.
                    unsafe { wgmma::store_pair(place(row + down, right % PART + pair), low, high) }
                }
            });
            sync_warp(FULL_MASK);
            let (across, mut first) = (lane % 16 * 4, lane / 16);
            let column = part * PART + across;
            while first < 16 {
                // Four rows at a time: what is read of memory is read before any of it is needed.
                let own = |number: u32| warp * 16 + first + 2 * number;
                let read = |number: u32| {
                    let beside = (self.beside)([batch, top + own(number), left + column]);
                    let old = if self.reads_old {
                        // SAFETY: of the block's tile, the warp's rows; a thread has these alone.
                        unsafe { tile.load_four(own(number), column) }
                    } else {
                        [O::zeroed(); 4]
                    };
                    (old, beside)
                };
                let write = |number: u32, (old, beside): ([O; 4], X)| {
                    // SAFETY: the warp's memory, which its threads have written.
                    let sums = unsafe { warp_group::load_four(place(first + 2 * number, across)) };
                    let values = (self.finish)(sums.map(bytemuck::cast), old, beside);
                    // SAFETY: as above.
                    unsafe { tile.store(tile.fours, own(number), column, values) }
                };
                let (one, two, three) = (read(0), read(1), read(2));
                // With elements of 32 bits, registers remain for three rows beside the sums.
                if size_of::<O>() > 2 {
                    write(0, one);
                    let four = read(3);
                    write(1, two);
                    write(2, three);
                    write(3, four);
                } else {
                    let four = read(3);
                    write(0, one);
                    write(1, two);
                    write(2, three);
                    write(3, four);
                }
                first += 8;
            }
            // All have read the part.
            sync_warp(FULL_MASK);
            part += 1;
        }
    }
}

/// A [`product`](super::product()) whose results are made four neighbours of a row at a time. For each four, `beside` is called with batch,
/// row and column of the first, to read what else is needed, and then `finish` with the sums, the old elements and what was read: what
/// it returns is written. If `reads_old` is not set, the old elements are zeros and are not read.
///
/// Where results are the sums alone, or what little can be made of each, `product` into tensor copies is faster. Here, what is
/// done with sums may be long, and may read arrays.
///
/// Rows and columns that `beside` is told may lie beyond the matrix, where what `finish` returns is not used.
///
/// ```no_run
/// use cuda_std::half::f16;
/// use cuda_std::prelude::*;
/// use cuda_std::tensor::{
///     MatrixOutput, Multicast, Swizzled, TensorMap, TensorPipeline, TensorStaging, Tiling, product_in_fours,
/// };
///
/// /// c = a bᵀ + residual
/// #[kernel(block = 384, min_blocks = 1, cluster = 2)]
/// pub fn layer(
///     a: TensorMap<Swizzled<f16, 128, 64>>,
///     b: TensorMap<Swizzled<f16, 128, 64>>,
///     residual: View<f16, 3>,
///     c: MatrixOutput<f16, Tiling<128, 256, 8, 2>>,
///     stages: TensorPipeline<(Swizzled<f16, 128, 64>, Multicast<Swizzled<f16, 256, 64>>), 4, 2, 2>,
///     staging: TensorStaging<Swizzled<f32, 16, 32>, 2>,
/// ) {
///     let beside = |at: [u32; 3]| residual.four(at.map(|at| at as usize), f16::ZERO);
///     product_in_fours((a, b), stages, (c, staging), false, beside, |sums: [f32; 4], _old, residual| {
///         let [a, b, c, d] = sums;
///         let [e, f, g, h] = residual.map(f16::to_f32);
///         [a + e, b + f, c + g, d + h].map(f16::from_f32)
///     });
/// }
/// # fn main() {}
/// ```
///
/// # Panics
/// As [`product`](super::product()).
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "operands, results, and what makes them")]
pub fn product_in_fours<
    T,
    O,
    X,
    A,
    B,
    const A_ROWS: usize,
    const A_COLUMNS: usize,
    const B_ROWS: usize,
    const B_COLUMNS: usize,
    const ROWS: usize,
    const COLUMNS: usize,
    const INNER: usize,
    const STAGES: usize,
    const GROUPS: u32,
    const CLUSTER: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
>(
    operands: (TensorMap<'_, Swizzled<T, A_ROWS, A_COLUMNS>>, TensorMap<'_, Swizzled<T, B_ROWS, B_COLUMNS>>),
    stages: TensorPipeline<'_, (A, B), STAGES, GROUPS, CLUSTER>,
    (output, staging): (
        MatrixOutput<'_, O, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>,
        TensorStaging<'_, Swizzled<f32, 16, 32>, GROUPS>,
    ),
    reads_old: bool,
    beside: impl Fn([u32; 3]) -> X,
    finish: impl Fn([T::Sum; 4], [O; 4], X) -> [O; 4],
) where
    T: Factor,
    O: Pod,
    A: StageTile<Tile: Operand<T, ROWS, INNER>>,
    B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    Columns<COLUMNS>: Width,
{
    let results = Fours { output, staging, reads_old, beside, finish };
    product::<T, T::Sum, A, B, _, A_ROWS, A_COLUMNS, B_ROWS, B_COLUMNS, ROWS, COLUMNS, INNER, STAGES, GROUPS, CLUSTER>(
        operands,
        stages,
        results,
        |_, sum| sum,
    );
}
