//! Whole products of matrices, for kernels that add what becomes of the sums.

use core::ops::Range;

use super::accumulator::Accumulator;
use super::map::{TensorMap, TensorOutput};
use super::matrix::{MatrixOutput, TensorExchange};
use super::meeting::Meet;
use super::output::{Places, TensorStaging, TileOrigin, Tiling};
use super::pipeline::{Consumer, Producer, TensorPipeline, is_joint};
use super::tile::{Element, Factor, Operand, StageTile, Stored, Swizzled, sealed as tile};
use super::width::{Columns, Number, Width};
use crate::device::intrinsics;
use crate::device::sync::wait_for_prior_kernels;

/// The registers of a thread in the roles of [`product`]: of the producer's warp group, of one warp group of consumers, of which
/// a multiprocessor has room for two blocks, and of each of two.
const LOW: u32 = 40;
const ONE: u32 = 216;
const TWO: u32 = 232;

/// Where the results of a [`product`] go, as `V` of sums `N`. The product has the output's [`Tiling`].
///
/// | results | numbers | rows |
/// |---|---|---|
/// | `(TensorOutput, TensorStaging)` in tiles of 16 by 64 | of 16 bits | begin at multiples of 16 bytes; written by tensor copies, while the next tile is computed |
/// | the same in tiles of 16 by 32 | `f32` | begin at multiples of 16 bytes; written by tensor copies |
/// | [`MatrixOutput`] | any | any |
/// | `(MatrixOutput, TensorExchange)` | any, of sums in `f32` | any; for few tiles with long sums, whose parts several blocks of a cluster compute |
#[diagnostic::on_unimplemented(
    message = "results `{V}` of sums `{N}` are not written to `{Self}`",
    note = "write `(TensorOutput<Swizzled<T, 16, 64>, Tiling<ROWS, COLUMNS>>, TensorStaging<Swizzled<T, 16, 64>, GROUPS>)` for 16 bits, \
            tiles of 16 by 32 for `f32`, `MatrixOutput<T, Tiling<ROWS, COLUMNS>>` for any number, `(MatrixOutput<T, Tiling<ROWS, COLUMNS, \
            BAND, DOWN, ACROSS, SLICES>>, TensorExchange<ROWS, COLUMNS, SLICES>)` for sums in `f32` that blocks share out"
)]
pub trait Results<V, N: Number, const ROWS: usize, const COLUMNS: usize, const GROUPS: u32>:
    sealed::Results<V, N, ROWS, COLUMNS, GROUPS>
where
    Columns<COLUMNS>: Width,
{
}

pub(super) mod sealed {
    use super::{Columns, Consumer, Factor, Number, Operand, Places, StageTile, Width};

    pub trait Results<V, N: Number, const ROWS: usize, const COLUMNS: usize, const GROUPS: u32>
    where
        Columns<COLUMNS>: Width,
    {
        /// How many blocks compute parts of the same sums.
        const SLICES: u32;
        /// How many blocks are in a cluster.
        const CLUSTER: u32;
        /// Whether `consume` itself waits, by `Consumer::wait_for_launches`, before it touches memory other than the stages.
        const WAITS: bool = false;

        /// Work of the block before it divides into roles.
        fn initialise(&self);

        /// The address of its shared memory, if it has some. A kernel may have several to choose from.
        fn memory(&self) -> Option<u32>;

        /// The tiles of the results that this block computes.
        fn places(&self) -> Places<ROWS, COLUMNS>;

        /// Work of the consumers: each sum has the products of this many stages.
        fn consume<T, A, B, const INNER: usize, const STAGES: usize, const CLUSTER: u32>(
            self,
            consumer: &mut Consumer<'_, (A, B), STAGES, GROUPS, CLUSTER>,
            steps: u32,
            result: &impl Fn([u32; 3], N) -> V,
        ) where
            T: Factor<Sum = N>,
            A: StageTile<Tile: Operand<T, ROWS, INNER>>,
            B: StageTile<Tile: Operand<T, COLUMNS, INNER>>;
    }
}

impl<
    T,
    V,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> Results<V, f32, ROWS, COLUMNS, GROUPS>
    for (
        TensorOutput<'_, Swizzled<T, 16, 64>, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>,
        TensorStaging<'_, Swizzled<T, 16, 64>, GROUPS>,
    )
where
    T: Element + Stored<V>,
    Columns<COLUMNS>: Width,
{
}

impl<
    O,
    V,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> sealed::Results<V, f32, ROWS, COLUMNS, GROUPS>
    for (
        TensorOutput<'_, Swizzled<O, 16, 64>, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>,
        TensorStaging<'_, Swizzled<O, 16, 64>, GROUPS>,
    )
where
    O: Element + Stored<V>,
    Columns<COLUMNS>: Width,
{
    const SLICES: u32 = 1;
    const CLUSTER: u32 = Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS>::CLUSTER;
    const WAITS: bool = true;

    #[inline(always)]
    fn initialise(&self) {
        self.0.prefetch();
    }

    #[inline(always)]
    fn memory(&self) -> Option<u32> {
        Some(self.1.base)
    }

    #[inline(always)]
    fn places(&self) -> Places<ROWS, COLUMNS> {
        self.0.places()
    }

    #[inline(always)]
    fn consume<T, A, B, const INNER: usize, const STAGES: usize, const CLUSTER: u32>(
        self,
        consumer: &mut Consumer<'_, (A, B), STAGES, GROUPS, CLUSTER>,
        steps: u32,
        result: &impl Fn([u32; 3], f32) -> V,
    ) where
        T: Factor<Sum = f32>,
        A: StageTile<Tile: Operand<T, ROWS, INNER>>,
        B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    {
        let first = 64 * consumer.rank();
        let mut sums = Accumulator::<COLUMNS>::zero();
        let mut writer = self.1.writer(consumer);
        for tile in self.0.tiles() {
            sums.products(|products| products.add_all(consumer, steps, &mut writer, first));
            consumer.wait_for_launches();
            let TileOrigin { batch, .. } = tile.place_in_batch();
            writer.hold_results(tile, &sums, |row, column, sum| result([batch, row, column], sum));
        }
    }
}

impl<
    V,
    N,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> Results<V, N, ROWS, COLUMNS, GROUPS>
    for (
        TensorOutput<'_, Swizzled<f32, 16, 32>, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>,
        TensorStaging<'_, Swizzled<f32, 16, 32>, GROUPS>,
    )
where
    f32: Stored<V>,
    N: Number,
    Columns<COLUMNS>: Width,
{
}

impl<
    V,
    N,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> sealed::Results<V, N, ROWS, COLUMNS, GROUPS>
    for (
        TensorOutput<'_, Swizzled<f32, 16, 32>, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>,
        TensorStaging<'_, Swizzled<f32, 16, 32>, GROUPS>,
    )
where
    f32: Stored<V>,
    N: Number,
    Columns<COLUMNS>: Width,
{
    const SLICES: u32 = 1;
    const CLUSTER: u32 = Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS>::CLUSTER;
    const WAITS: bool = true;

    #[inline(always)]
    fn initialise(&self) {
        self.0.prefetch();
    }

    #[inline(always)]
    fn memory(&self) -> Option<u32> {
        Some(self.1.base)
    }

    #[inline(always)]
    fn places(&self) -> Places<ROWS, COLUMNS> {
        self.0.places()
    }

    #[inline(always)]
    fn consume<T, A, B, const INNER: usize, const STAGES: usize, const CLUSTER: u32>(
        self,
        consumer: &mut Consumer<'_, (A, B), STAGES, GROUPS, CLUSTER>,
        steps: u32,
        result: &impl Fn([u32; 3], N) -> V,
    ) where
        T: Factor<Sum = N>,
        A: StageTile<Tile: Operand<T, ROWS, INNER>>,
        B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    {
        let first = 64 * consumer.rank();
        let mut sums = Accumulator::<COLUMNS, N>::zero();
        let (output, staging) = self;
        for tile in output.tiles() {
            sums.products(|products| {
                for _ in 0..steps {
                    products.add_rows(consumer.wait(), first);
                }
            });
            consumer.wait_for_launches();
            let TileOrigin { batch, .. } = tile.place_in_batch();
            staging.write(consumer, tile, &sums, |row, column, sum| result([batch, row, column], sum));
        }
    }
}

impl<
    T,
    V,
    N,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> Results<V, N, ROWS, COLUMNS, GROUPS> for MatrixOutput<'_, T, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>
where
    T: Stored<V>,
    N: Number,
    Columns<COLUMNS>: Width,
{
}

impl<
    O,
    V,
    N,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
> sealed::Results<V, N, ROWS, COLUMNS, GROUPS> for MatrixOutput<'_, O, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>
where
    O: Stored<V>,
    N: Number,
    Columns<COLUMNS>: Width,
{
    const SLICES: u32 = 1;
    const CLUSTER: u32 = Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS>::CLUSTER;
    const WAITS: bool = true;

    #[inline(always)]
    fn initialise(&self) {}

    #[inline(always)]
    fn memory(&self) -> Option<u32> {
        None
    }

    #[inline(always)]
    fn places(&self) -> Places<ROWS, COLUMNS> {
        MatrixOutput::places(self)
    }

    #[inline(always)]
    fn consume<T, A, B, const INNER: usize, const STAGES: usize, const CLUSTER: u32>(
        self,
        consumer: &mut Consumer<'_, (A, B), STAGES, GROUPS, CLUSTER>,
        steps: u32,
        result: &impl Fn([u32; 3], N) -> V,
    ) where
        T: Factor<Sum = N>,
        A: StageTile<Tile: Operand<T, ROWS, INNER>>,
        B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    {
        let first = 64 * consumer.rank();
        let mut sums = Accumulator::<COLUMNS, N>::zero();
        for tile in self.tiles() {
            sums.products(|products| {
                for _ in 0..steps {
                    products.add_rows(consumer.wait(), first);
                }
            });
            consumer.wait_for_launches();
            let TileOrigin { batch, .. } = tile.place();
            tile.write(consumer, &sums, |row, column, sum| result([batch, row, column], sum));
        }
    }
}

impl<
    T,
    V,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
    const SLICES_: u32,
> Results<V, f32, ROWS, COLUMNS, GROUPS>
    for (
        MatrixOutput<'_, T, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS, SLICES_>>,
        TensorExchange<'_, ROWS, COLUMNS, SLICES_>,
    )
where
    T: Stored<V>,
    Columns<COLUMNS>: Width,
{
}

impl<
    O,
    V,
    const ROWS: usize,
    const COLUMNS: usize,
    const GROUPS: u32,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
    const SLICES_: u32,
> sealed::Results<V, f32, ROWS, COLUMNS, GROUPS>
    for (
        MatrixOutput<'_, O, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS, SLICES_>>,
        TensorExchange<'_, ROWS, COLUMNS, SLICES_>,
    )
where
    O: Stored<V>,
    Columns<COLUMNS>: Width,
{
    const SLICES: u32 = SLICES_;
    const CLUSTER: u32 = Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS, SLICES_>::CLUSTER;
    const WAITS: bool = true;

    #[inline(always)]
    fn initialise(&self) {
        self.1.initialise(GROUPS);
    }

    #[inline(always)]
    fn memory(&self) -> Option<u32> {
        Some(self.1.base)
    }

    #[inline(always)]
    fn places(&self) -> Places<ROWS, COLUMNS> {
        self.0.places()
    }

    #[inline(always)]
    fn consume<T, A, B, const INNER: usize, const STAGES: usize, const CLUSTER: u32>(
        self,
        consumer: &mut Consumer<'_, (A, B), STAGES, GROUPS, CLUSTER>,
        steps: u32,
        result: &impl Fn([u32; 3], f32) -> V,
    ) where
        T: Factor<Sum = f32>,
        A: StageTile<Tile: Operand<T, ROWS, INNER>>,
        B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    {
        let first = 64 * consumer.rank();
        let mut sums = Accumulator::<COLUMNS>::zero();
        let (output, exchange) = self;
        let tiles = output.sliced();
        let mut number = 0;
        for tile in tiles {
            sums.products(|products| {
                for _ in 0..steps {
                    products.add_rows(consumer.wait(), first);
                }
            });
            consumer.wait_for_launches();
            exchange.write(consumer, number, &tile, (&sums, steps > 0), result);
            number += 1;
        }
        exchange.finish::<CLUSTER>(number);
    }
}

/// Computes the product of two matrices, or of several: what `result` makes of batch, row, column and sum is written. All of a
/// kernel that has nothing else to do; all threads of the block come here.
///
/// `a` and `b` lie in either order, as the tiles of the pipeline's stages say: rows or columns of the product along the rows of
/// the tile, [`Swizzled`](super::Swizzled) with as many columns as are summed over at a time, or across them,
/// [`Across`](super::Across). So one kernel computes `a b`, `a bᵀ` and `aᵀ b`, with different tiles. The tile of the
/// product has 64 rows for each warp group of consumers, and as many columns as an accumulator.
///
/// Rows and columns that `result` is told may lie beyond the matrix, where what it returns is not used.
///
/// ```no_run
/// use cuda_std::half::f16;
/// use cuda_std::prelude::*;
/// use cuda_std::tensor::{
///     Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling, product,
/// };
///
/// /// c = max(a bᵀ + bias, 0), of which `bias` has a number for each column.
/// #[kernel(block = 384, min_blocks = 1, cluster = 2)]
/// pub fn layer(
///     a: TensorMap<Swizzled<f16, 128, 64>>,
///     b: TensorMap<Swizzled<f16, 128, 64>>,
///     bias: &[f32],
///     c: TensorOutput<Swizzled<f16, 16, 64>, Tiling<128, 256, 8, 2>>,
///     stages: TensorPipeline<(Swizzled<f16, 128, 64>, Multicast<Swizzled<f16, 256, 64>>), 4, 2, 2>,
///     staging: TensorStaging<Swizzled<f16, 16, 64>, 2>,
/// ) {
///     product((a, b), stages, (c, staging), |[_, _, column], sum: f32| {
///         (sum + bias.get(column as usize).copied().unwrap_or(0.0)).max(0.0)
///     });
/// }
/// # fn main() {}
/// ```
///
/// # Panics
/// If the block has not `GROUPS + 1` warp groups, or the cluster not `CLUSTER` blocks; if not all threads of the block come here with
/// the same operands and results, and those of the cluster if its blocks have tiles or sums in common. That these are the blocks of the
/// output's [`Tiling`], which lie below and beside each other and have parts of the same sums, is checked when the kernel is compiled.
#[inline(always)]
pub fn product<
    T,
    V,
    A,
    B,
    R,
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
>(
    (a, b): (TensorMap<'_, Swizzled<T, A_ROWS, A_COLUMNS>>, TensorMap<'_, Swizzled<T, B_ROWS, B_COLUMNS>>),
    stages: TensorPipeline<'_, (A, B), STAGES, GROUPS, CLUSTER>,
    results: R,
    result: impl Fn([u32; 3], T::Sum) -> V,
) where
    T: Factor,
    A: StageTile<Tile: Operand<T, ROWS, INNER>>,
    B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    R: Results<V, T::Sum, ROWS, COLUMNS, GROUPS>,
    Columns<COLUMNS>: Width,
{
    if GROUPS == 1 {
        product_with((a, b), stages, results, Registers::<LOW, ONE>, result);
    } else {
        product_with((a, b), stages, results, Registers::<LOW, TWO>, result);
    }
}

/// The registers of a thread in the roles of [`product_with`]: of the producer's warp group, and of each consumer.
#[derive(Clone, Copy, Debug)]
pub struct Registers<const LOW: u32, const HIGH: u32>;

/// As [`product`], with registers as [`roles`](TensorPipeline::roles) takes them: a kernel that states fewer,
/// `#[kernel(max_registers = ..)]`, leaves room for the blocks of other kernels beside its own.
///
/// # Panics
/// As [`product`].
#[inline(always)]
pub fn product_with<
    T,
    V,
    A,
    B,
    R,
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
    const LOW: u32,
    const HIGH: u32,
>(
    (a, b): (TensorMap<'_, Swizzled<T, A_ROWS, A_COLUMNS>>, TensorMap<'_, Swizzled<T, B_ROWS, B_COLUMNS>>),
    stages: TensorPipeline<'_, (A, B), STAGES, GROUPS, CLUSTER>,
    results: R,
    _: Registers<LOW, HIGH>,
    result: impl Fn([u32; 3], T::Sum) -> V,
) where
    T: Factor,
    A: StageTile<Tile: Operand<T, ROWS, INNER>>,
    B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    R: Results<V, T::Sum, ROWS, COLUMNS, GROUPS>,
    Columns<COLUMNS>: Width,
{
    const {
        assert!(
            R::SLICES == 1 || A::COMMON.0 == 1 && B::COMMON.0 == 1,
            "blocks that compute parts of the same sums have no tiles in common: their parts may be of different lengths"
        );
        assert!(GROUPS <= 2, "a product has one or two warp groups of consumers");
    };
    a.prefetch();
    b.prefetch();
    // The columns of `a`, or its rows if they lie across the sum.
    let length = if <A::Tile as tile::Tile>::PANELS { a.rows() } else { a.columns() };
    let steps = length.div_ceil(INNER as u32);
    let bring = |producer: &mut Producer<'_, (A, B), STAGES, CLUSTER>, place: TileOrigin, steps: Range<u32>| {
        let TileOrigin { batch, row, column } = place;
        for step in steps {
            let k = step * INNER as u32;
            let a = a.at_batch(batch, <A::Tile as tile::Operand>::place(row, k));
            let b = b.at_batch(batch, <B::Tile as tile::Operand>::place(column, k));
            producer.acquire().fill::<T>(a, b);
        }
    };
    let settled = a.is_settled() && b.is_settled();
    compute_early::<T, _, _, _, _, _, ROWS, COLUMNS, INNER, STAGES, GROUPS, CLUSTER, LOW, HIGH>(
        stages, results, steps, settled, bring, result,
    );
}

/// Computes products of `steps` stages in roles with so many registers. `bring` fills the stages for a tile of the results: all of
/// them, or this block's part.
///
/// # Panics
/// As [`product`].
#[inline(always)]
pub(super) fn compute<
    T,
    V,
    A,
    B,
    R,
    F,
    const ROWS: usize,
    const COLUMNS: usize,
    const INNER: usize,
    const STAGES: usize,
    const GROUPS: u32,
    const CLUSTER: u32,
    const LOW: u32,
    const HIGH: u32,
>(
    stages: TensorPipeline<'_, (A, B), STAGES, GROUPS, CLUSTER>,
    results: R,
    steps: u32,
    bring: F,
    result: impl Fn([u32; 3], T::Sum) -> V,
) where
    T: Factor,
    A: StageTile<Tile: Operand<T, ROWS, INNER>>,
    B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    R: Results<V, T::Sum, ROWS, COLUMNS, GROUPS>,
    F: FnMut(&mut Producer<'_, (A, B), STAGES, CLUSTER>, TileOrigin, Range<u32>),
    Columns<COLUMNS>: Width,
{
    compute_early::<T, V, A, B, R, F, ROWS, COLUMNS, INNER, STAGES, GROUPS, CLUSTER, LOW, HIGH>(
        stages, results, steps, false, bring, result,
    );
}

/// The same, where what `bring` reads may be `settled`: not written by launches ahead that may still be running.
#[inline(always)]
fn compute_early<
    T,
    V,
    A,
    B,
    R,
    F,
    const ROWS: usize,
    const COLUMNS: usize,
    const INNER: usize,
    const STAGES: usize,
    const GROUPS: u32,
    const CLUSTER: u32,
    const LOW: u32,
    const HIGH: u32,
>(
    stages: TensorPipeline<'_, (A, B), STAGES, GROUPS, CLUSTER>,
    results: R,
    steps: u32,
    settled: bool,
    mut bring: F,
    result: impl Fn([u32; 3], T::Sum) -> V,
) where
    T: Factor,
    A: StageTile<Tile: Operand<T, ROWS, INNER>>,
    B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    R: Results<V, T::Sum, ROWS, COLUMNS, GROUPS>,
    F: FnMut(&mut Producer<'_, (A, B), STAGES, CLUSTER>, TileOrigin, Range<u32>),
    Columns<COLUMNS>: Width,
{
    const {
        assert!(
            CLUSTER == R::CLUSTER,
            "the blocks of a cluster lie below and beside each other, or have parts of the same sums"
        );
    };
    results.initialise();
    // This block's part of the steps.
    let slice = if R::SLICES > 1 { intrinsics::rank_in_cluster() / (CLUSTER / R::SLICES) } else { 0 };
    let bound = |slice: u32| (u64::from(steps) * u64::from(slice) / u64::from(R::SLICES)) as u32;
    let (first, end) = (bound(slice), bound(slice + 1));
    let mut places = results.places();
    let [rows, columns, tiles] = places.counts();
    // Blocks of a cluster compare offsets: on a GPU, an address in shared memory has the rank of its block in the upper bits.
    let memory = results.memory().map_or(0, |memory| memory.wrapping_sub(stages.base));
    let meet =
        Meet { task: Some([steps, rows, columns, tiles, memory, 0, 0]), joint: is_joint::<(A, B)>() || R::SLICES > 1 };
    let producer = |producer: &mut Producer<'_, (A, B), STAGES, CLUSTER>| {
        if !settled {
            wait_for_prior_kernels();
        }
        while let Some(place) = places.next_place() {
            bring(producer, place, first..end);
        }
    };
    let consumer = |consumer: &mut Consumer<'_, (A, B), STAGES, GROUPS, CLUSTER>| {
        if settled && R::WAITS {
            consumer.begin_early();
        } else {
            wait_for_prior_kernels();
        }
        results.consume::<T, A, B, INNER, STAGES, CLUSTER>(consumer, end - first, &result);
        consumer.wait_for_launches();
    };
    // SAFETY: the number of stages follows from the task, of which the threads that meet have the same, and the part of a block; the producer
    // has nothing to panic for.
    let stages = unsafe { stages.assume_equal() };
    stages.divide::<LOW, HIGH, false>(Some(meet), producer, consumer);
}
