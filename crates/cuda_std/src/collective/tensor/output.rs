//! Outputs of warp groups: the assignment of a matrix's tiles to blocks, and their path through shared memory.

use core::marker::PhantomData;

use super::accumulator::{Accumulator, Packed, register_place};
use super::map::TensorOutput;
use super::pipeline::{Consumer, assert_cluster};
use super::tile::{Element, Factor, Stored, Swizzled, Tile, sealed};
use super::width::{Columns, Number, Width};
use crate::abi::parameter::{KernelParameter, Role};
use crate::collective::warp::FULL_MASK;
use crate::device::intrinsics;
use crate::device::sync::sync_warp;
use crate::device::thread::{block_number, grid_dim, lane_id};
use crate::device::wgmma;
use crate::device::wgmma::Sums as _;
use crate::mem::shared::dynamic_shared_tensors;

/// How blocks share out the tiles of a matrix: a part of the type of [`TensorOutput`] and [`MatrixOutput`](super::MatrixOutput), so that
/// all blocks have the same, and each tile belongs to one of them.
///
/// A tile has `ROWS` by `COLUMNS` elements. Tiles are computed in bands of `BAND` tiles from top to bottom, and in each column by
/// column: tiles that are computed at the same time then lie in a square, and their operands stay in the cache.
///
/// The blocks of a cluster lie in the matrix `DOWN` below each other, which have neighbouring numbers, and `ACROSS` of these columns
/// beside each other: with clusters, `BAND` counts these groups, not single tiles. `SLICES` times as many blocks are in a cluster, of
/// which each computes a part of the sums of the same tile: [`TensorExchange`](super::TensorExchange).
#[derive(Clone, Copy, Debug)]
pub struct Tiling<
    const ROWS: usize,
    const COLUMNS: usize,
    const BAND: u32 = 1,
    const DOWN: u32 = 1,
    const ACROSS: u32 = 1,
    const SLICES: u32 = 1,
>;

impl<const ROWS: usize, const COLUMNS: usize, const BAND: u32, const DOWN: u32, const ACROSS: u32, const SLICES: u32>
    Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS, SLICES>
{
    /// The blocks of a cluster.
    pub(super) const CLUSTER: u32 = {
        assert!(ROWS > 0 && COLUMNS > 0 && ROWS <= 1 << 16 && COLUMNS <= 1 << 16, "tiles have rows and columns");
        assert!(BAND > 0, "a band has tiles");
        assert!(DOWN > 0 && ACROSS > 0 && SLICES > 0, "a cluster has blocks");
        DOWN * ACROSS * SLICES
    };

    /// The tiles of so many matrices, rows and columns that the calling block computes.
    #[inline(always)]
    pub(super) fn places([batches, rows, columns]: [u32; 3]) -> Places<ROWS, COLUMNS> {
        // Counted in whole clusters.
        let rows = rows.div_ceil(ROWS as u32).div_ceil(DOWN);
        let columns = columns.div_ceil(COLUMNS as u32).div_ceil(ACROSS);
        Places {
            rows,
            columns,
            // A band is no higher than the matrix, so arithmetic with it does not overflow.
            band: BAND.min(rows.max(1)),
            down: DOWN,
            across: ACROSS,
            cluster: Self::CLUSTER,
            next: cluster(Self::CLUSTER).0,
            all: rows.saturating_mul(columns).saturating_mul(batches),
        }
    }
}

/// The tiles of a matrix, `ROWS` by `COLUMNS` each, that one block computes, in turn.
#[derive(Clone, Copy, Debug)]
pub struct Places<const ROWS: usize, const COLUMNS: usize> {
    rows: u32,
    columns: u32,
    band: u32,
    down: u32,
    across: u32,
    /// The blocks of a cluster.
    cluster: u32,
    next: u32,
    all: u32,
}

/// Where a tile begins.
#[derive(Clone, Copy, Debug)]
pub struct TileOrigin {
    /// In which of several matrices.
    pub batch: u32,
    /// The first row.
    pub row: u32,
    /// The first column.
    pub column: u32,
}

/// The number of the calling block's cluster, how many there are, and which of its blocks this is. Without clusters, each block
/// is one.
#[inline(always)]
fn cluster(blocks: u32) -> (u32, u32, u32) {
    let (number, rank, [x, y, z]) = if blocks == 1 {
        (block_number(), 0, grid_dim().to_array())
    } else {
        let [x, y, z] = intrinsics::grid_clusters();
        let [i, j, k] = intrinsics::cluster_idx();
        let number = (u64::from(k) * u64::from(y) + u64::from(j)) * u64::from(x) + u64::from(i);
        (number, intrinsics::rank_in_cluster(), [x, y, z])
    };
    // Clusters beyond 32 bits have no work: a matrix has fewer tiles.
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    (narrow(number), narrow(u64::from(x) * u64::from(y) * u64::from(z)), rank)
}

impl<const ROWS: usize, const COLUMNS: usize> Places<ROWS, COLUMNS> {
    /// The data that determine all blocks' tiles, beside the type: rows and columns of tiles, and their number.
    #[inline(always)]
    pub(super) fn counts(&self) -> [u32; 3] {
        [self.rows, self.columns, self.all]
    }

    /// The next tile, of any of the matrices.
    #[inline(always)]
    pub fn next_place(&mut self) -> Option<TileOrigin> {
        if self.next >= self.all {
            return None;
        }
        let per_matrix = self.rows * self.columns;
        let (batch, rest) = (self.next / per_matrix, self.next % per_matrix);
        let per_band = self.band * self.columns;
        let (band, rest) = (rest / per_band, rest % per_band);
        let first = band * self.band;
        let height = self.band.min(self.rows - first);
        let (row, column) = (first + rest % height, rest / height);
        let (_, step, rank) = cluster(self.cluster);
        self.next = self.next.saturating_add(step);
        let Self { down, across, .. } = *self;
        Some(TileOrigin {
            batch,
            row: (row * down + rank % down) * ROWS as u32,
            column: (column * across + rank / down % across) * COLUMNS as u32,
        })
    }
}

/// The first row and column of each tile.
impl<const ROWS: usize, const COLUMNS: usize> Iterator for Places<ROWS, COLUMNS> {
    type Item = [u32; 2];

    #[inline(always)]
    fn next(&mut self) -> Option<[u32; 2]> {
        self.next_place().map(|TileOrigin { row, column, .. }| [row, column])
    }
}

/// The tiles of an output that a block writes, in turn: [`TensorOutput::tiles`].
#[derive(Debug)]
pub struct OutputTiles<'l, T: Tile, const ROWS: usize, const COLUMNS: usize> {
    image: *const u8,
    places: Places<ROWS, COLUMNS>,
    output: PhantomData<&'l T>,
}

impl<'l, T: Tile, const ROWS: usize, const COLUMNS: usize, const BAND: u32, const DOWN: u32, const ACROSS: u32>
    TensorOutput<'l, T, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>
{
    /// The tiles that this block writes, so that all blocks together write each once. The grid may have any number of blocks.
    ///
    /// # Panics
    /// If the cluster has not `DOWN` times `ACROSS` blocks.
    #[inline(always)]
    #[must_use]
    pub fn tiles(self) -> OutputTiles<'l, T, ROWS, COLUMNS> {
        assert_cluster(Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS>::CLUSTER);
        OutputTiles { image: self.image(), places: self.places(), output: PhantomData }
    }

    /// Where these tiles are.
    #[inline(always)]
    pub(super) fn places(&self) -> Places<ROWS, COLUMNS> {
        Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS>::places([self.batches(), self.rows(), self.columns()])
    }
}

impl<T: Tile, const ROWS: usize, const COLUMNS: usize> OutputTiles<'_, T, ROWS, COLUMNS> {
    /// Where the tiles are, for the producer, which brings what they are computed of.
    #[inline(always)]
    #[must_use]
    pub fn places(&self) -> Places<ROWS, COLUMNS> {
        self.places
    }
}

/// The next tile.
impl<'l, T: Tile, const ROWS: usize, const COLUMNS: usize> Iterator for OutputTiles<'l, T, ROWS, COLUMNS> {
    type Item = OutputTile<'l, T, ROWS, COLUMNS>;

    #[inline(always)]
    fn next(&mut self) -> Option<OutputTile<'l, T, ROWS, COLUMNS>> {
        Some(OutputTile { image: self.image, place: self.places.next_place()?, output: PhantomData })
    }
}

/// A tile of an output, which this block alone writes.
#[derive(Debug)]
pub struct OutputTile<'l, T: Tile, const ROWS: usize, const COLUMNS: usize> {
    image: *const u8,
    place: TileOrigin,
    output: PhantomData<&'l T>,
}

impl<'l, T: Tile, const ROWS: usize, const COLUMNS: usize> OutputTile<'l, T, ROWS, COLUMNS> {
    /// The tile's first row and column.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> [u32; 2] {
        [self.place.row, self.place.column]
    }

    /// The tile's first row and column, and the number of its matrix in the batch.
    #[inline(always)]
    #[must_use]
    pub fn place_in_batch(&self) -> TileOrigin {
        self.place
    }
}

/// Writer of a warp group: holds at most one tile in registers while the next tile is computed. The writer lasts as
/// long as the role of its consumer, `'r`.
#[allow(missing_debug_implementations, reason = "registers of threads are not shown")]
pub struct TensorWriter<'r, T: Element, const GROUPS: u32, const WIDTH: usize, const PART: usize = 64>
where
    Columns<WIDTH>: Width,
{
    /// The warp's buffers.
    buffers: u32,
    warp: u32,
    full: bool,
    /// Where it is written.
    image: *const u8,
    place: TileOrigin,
    /// Its numbers, which are only ever changed in place: a move of as many goes through memory.
    numbers: Packed<T, WIDTH>,
    role: PhantomData<(&'r T, *mut ())>,
}

impl<T: Element, const GROUPS: u32, const PART: usize> TensorStaging<'_, Swizzled<T, 16, PART>, GROUPS> {
    /// A writer of tiles as wide as `WIDTH` columns, for the warp group of `consumer`.
    #[inline(always)]
    #[must_use]
    pub fn writer<'r, S: super::Stage, const STAGES: usize, const CLUSTER: u32, const WIDTH: usize>(
        self,
        consumer: &Consumer<'r, S, STAGES, GROUPS, CLUSTER>,
    ) -> TensorWriter<'r, T, GROUPS, WIDTH, PART>
    where
        Columns<WIDTH>: Width,
    {
        const {
            assert!(
                PART == 64 || PART == 32,
                "a warp writes 64 or 32 columns at a time, which is what the output's tiles have"
            );
            assert!(
                WIDTH.is_multiple_of(PART) && WIDTH <= 256,
                "a warp writes as many columns at a time as the output's tiles have"
            );
            assert!(size_of::<T>() == 2, "a warp writes numbers of 16 bits");
        }
        let warp = consumer.warp();
        TensorWriter {
            buffers: self.base + warp * 2 * <Swizzled<T, 16, PART> as sealed::Tile>::BYTES,
            warp,
            full: false,
            image: core::ptr::null(),
            place: TileOrigin { batch: 0, row: 0, column: 0 },
            numbers: Packed::zero(),
            role: PhantomData,
        }
    }
}

impl<T: Element, const GROUPS: u32, const WIDTH: usize, const PART: usize> TensorWriter<'_, T, GROUPS, WIDTH, PART>
where
    Columns<WIDTH>: Width,
{
    /// Takes a tile with its sums, 64 rows from each warp group of consumers, in order. Writes the tile held before, if
    /// any. Afterwards the accumulator is free for other products.
    #[inline(always)]
    pub fn hold<const ROWS: usize, const COLUMNS: usize>(
        &mut self,
        tile: OutputTile<'_, Swizzled<T, 16, PART>, ROWS, COLUMNS>,
        sums: &Accumulator<WIDTH>,
    ) where
        T: Stored<f32>,
    {
        self.hold_results(tile, sums, |_, _, sum| sum);
    }

    /// The same with the values of `result` for row, column and sum. `result` is also called for rows and columns
    /// beyond the matrix.
    #[inline(always)]
    pub fn hold_results<V, const ROWS: usize, const COLUMNS: usize>(
        &mut self,
        tile: OutputTile<'_, Swizzled<T, 16, PART>, ROWS, COLUMNS>,
        sums: &Accumulator<WIDTH>,
        mut result: impl FnMut(u32, u32, f32) -> V,
    ) where
        T: Stored<V>,
    {
        const {
            assert!(ROWS == 64 * GROUPS as usize, "a tile has 64 rows for each warp group of consumers");
            assert!(COLUMNS == WIDTH, "a tile has as many columns as its sums");
        }
        self.write();
        self.full = true;
        (self.image, self.place) = (tile.image, tile.place);
        let (row, column) = (tile.place.row + self.warp / 4 * 64, tile.place.column);
        self.numbers.take(sums, |down, right, sum| result(row + down, column + right, sum));
    }

    /// Writes the held tile, if any. Each warp copies its 16 rows through shared memory, and does not wait until the
    /// copies complete.
    ///
    /// `stmatrix`; PTX 7.8, sm_90. `cp.async.bulk.tensor.2d.global`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn write(&mut self) {
        if self.full {
            self.columns::<0, 2>();
            if Self::PARTS > 2 {
                self.columns::<2, 2>();
            }
            if Self::PARTS > 4 {
                self.columns::<4, 2>();
            }
            if Self::PARTS > 6 {
                self.columns::<6, 2>();
            }
            self.full = false;
        }
    }

    /// Writes the held tile in parts, and calls `meanwhile` before each part: products that `meanwhile` starts
    /// run while the part is written.
    #[inline(always)]
    pub(super) fn write_between(&mut self, mut meanwhile: impl FnMut()) {
        meanwhile();
        self.columns::<0, 1>();
        if Self::PARTS > 1 {
            meanwhile();
            self.columns::<1, 1>();
        }
        if Self::PARTS > 2 {
            meanwhile();
            self.columns::<2, 1>();
        }
        if Self::PARTS > 3 {
            meanwhile();
            self.columns::<3, 1>();
        }
        if Self::PARTS > 4 {
            meanwhile();
            self.columns::<4, 1>();
        }
        if Self::PARTS > 5 {
            meanwhile();
            self.columns::<5, 1>();
        }
        if Self::PARTS > 6 {
            meanwhile();
            self.columns::<6, 1>();
        }
        if Self::PARTS > 7 {
            meanwhile();
            self.columns::<7, 1>();
        }
        self.full = false;
    }

    /// The number of times that [`write_between`](Self::write_between) calls its closure.
    pub(super) const PARTS: u32 = (WIDTH / PART) as u32;

    /// Whether a tile is held.
    #[inline(always)]
    pub(super) fn holds(&self) -> bool {
        self.full
    }

    /// Writes a part, the `FIRST`-th, or as many as there are buffers for, which is two: the more at once, the fewer
    /// fences.
    #[inline(always)]
    fn columns<const FIRST: usize, const BUFFERS: usize>(&mut self) {
        const {
            assert!(BUFFERS == 1 || BUFFERS == 2 && FIRST.is_multiple_of(2), "a warp has two buffers");
        };
        let lane = lane_id();
        let bytes = <Swizzled<T, 16, PART> as sealed::Tile>::BYTES;
        let buffer = self.buffers + FIRST as u32 % 2 * bytes;
        let both = BUFFERS == 2 && Self::PARTS > FIRST as u32 + 1;
        let sixteens = const { PART / 16 };
        // SAFETY: the buffers are this warp's, all lanes of which come here, and earlier copies have read them. The rows of the
        // output are this warp's, of the block's tile.
        unsafe {
            if lane == 0 {
                if BUFFERS == 1 {
                    wgmma::store_wait_read_1();
                } else {
                    wgmma::store_wait_read();
                }
            }
            sync_warp(FULL_MASK);
            self.stage(buffer, sixteens * FIRST);
            if both {
                self.stage(buffer + bytes, sixteens * (FIRST + 1));
            }
            wgmma::fence_proxy_async();
            sync_warp(FULL_MASK);
            if lane == 0 {
                let TileOrigin { batch, row, column } = self.place;
                let (row, column) = (row + self.warp * 16, column + (FIRST * PART) as u32);
                wgmma::store_tile(self.image, batch, row, column, buffer);
                wgmma::store_commit();
                if both {
                    wgmma::store_tile(self.image, batch, row, column + PART as u32, buffer + bytes);
                    wgmma::store_commit();
                }
            }
        }
    }

    /// Puts a part into a buffer, from the given sixteen columns on.
    ///
    /// # Safety
    ///
    /// The lanes of the warp are together, and nothing else uses the buffer.
    #[inline(always)]
    unsafe fn stage(&self, buffer: u32, first: usize) {
        // `stmatrix` takes the addresses of rows of 8 columns, of the upper 8 rows and the lower, of two such columns. The
        // swizzle exchanges columns by the row: PTX ISA, "Swizzling Modes".
        let (pitch, lane) = (<Swizzled<T, 16, PART> as sealed::Tile>::PITCH, lane_id());
        let (number, half) = (lane % 16, lane / 16);
        // By the bits of the row's address from 128 on, of as many as there are pieces of 16 bytes in a row.
        let pattern = (number * pitch / 128) & (pitch / 16 - 1);
        let row = buffer + number * pitch + ((half ^ pattern) << 4);
        // SAFETY: the caller's; a buffer has 16 rows.
        unsafe {
            let store = |address, [a, b, c, d]: [u32; 4]| wgmma::stmatrix_x4(address, a, b, c, d);
            store(row, self.numbers.sixteen(first));
            store(row ^ 32, self.numbers.sixteen(first + 1));
            if PART > 32 {
                store(row ^ 64, self.numbers.sixteen(first + 2));
                store(row ^ 96, self.numbers.sixteen(first + 3));
            }
        }
    }
}

impl<T: Factor, const GROUPS: u32> TensorStaging<'_, Swizzled<T, 16, 32>, GROUPS> {
    /// Writes a tile of numbers with 32 bits: what `result` makes of row, column and sum. Each warp takes its 16 rows through
    /// shared memory, 32 columns at a time, and does not wait for them to arrive.
    #[inline(always)]
    pub(super) fn write<V, N, S, const STAGES: usize, const CLUSTER: u32, const ROWS: usize, const COLUMNS: usize>(
        &self,
        consumer: &Consumer<'_, S, STAGES, GROUPS, CLUSTER>,
        tile: OutputTile<'_, Swizzled<T, 16, 32>, ROWS, COLUMNS>,
        sums: &Accumulator<COLUMNS, N>,
        mut result: impl FnMut(u32, u32, N) -> V,
    ) where
        T: Stored<V>,
        N: Number,
        S: super::Stage,
        Columns<COLUMNS>: Width,
    {
        const {
            assert!(ROWS == 64 * GROUPS as usize, "a tile has 64 rows for each warp group of consumers");
            assert!(COLUMNS.is_multiple_of(32) && size_of::<T>() == 4, "32 columns of 32 bits at a time");
        }
        let bytes = <Swizzled<T, 16, 32> as sealed::Tile>::BYTES;
        let warp = consumer.warp();
        let buffers = self.base + warp * 2 * bytes;
        let TileOrigin { batch, row, column } = tile.place;
        let (first_row, first_column) = (row + warp * 16, column);
        let lane = lane_id();
        let (row, pair) = (lane / 4, lane % 4 * 2);
        sums.sums.pairs(|register, low, high| {
            // 16 registers are 32 columns: of each four, two are of the row that is 8 further down.
            let (part, [down, right]) = (register as u32 / 16, register_place(register));
            let buffer = buffers + part % 2 * bytes;
            let (down, right) = (row + down, right % 32 + pair);
            let value = |column: u32, sum: N| -> u32 {
                bytemuck::cast(T::round(result(first_row + down, first_column + part * 32 + right + column, sum)))
            };
            let mut value = value;
            let (low, high) = (value(0, low), value(1, high));
            // The swizzle exchanges columns by the row: PTX ISA, "Swizzling Modes".
            let place = buffer + down * 128 + (((right / 4) ^ (down % 8)) << 4) + right % 4 * 4;
            // SAFETY: the buffers are this warp's, all lanes of which come here, and earlier copies have read them. The rows of
            // the output are this warp's, of the block's tile.
            unsafe {
                if register % 16 == 0 {
                    if lane == 0 {
                        wgmma::store_wait_read_1();
                    }
                    sync_warp(FULL_MASK);
                }
                wgmma::store_pair(place, low, high);
                if register % 16 == 14 {
                    wgmma::fence_proxy_async();
                    sync_warp(FULL_MASK);
                    if lane == 0 {
                        wgmma::store_tile(tile.image, batch, first_row, first_column + part * 32, buffer);
                        wgmma::store_commit();
                    }
                }
            }
        });
    }
}

/// Writes the tile that is held.
impl<T: Element, const GROUPS: u32, const WIDTH: usize, const PART: usize> Drop
    for TensorWriter<'_, T, GROUPS, WIDTH, PART>
where
    Columns<WIDTH>: Width,
{
    #[inline(always)]
    fn drop(&mut self) {
        self.write();
    }
}

/// Shared memory through which the warps of `GROUPS` warp groups write: two tiles `T` for each warp. A parameter of a kernel,
/// which the host does not pass.
#[derive(Debug)]
pub struct TensorStaging<'l, T: Tile, const GROUPS: u32> {
    pub(super) base: u32,
    launch: PhantomData<(&'l T, *mut ())>,
}

/// The memory of one warp group.
#[derive(Debug)]
#[repr(C)]
pub struct TensorStagingMemory<T: Tile>([[T::Memory; 2]; 4]);

macro_rules! staging {
    ($($groups:literal)*) => {$(
        // SAFETY: a part of the launch's dynamic shared memory, which the launcher lays out; all threads get the same.
        unsafe impl<T: Tile> KernelParameter for TensorStaging<'_, T, $groups> {
            const ROLE: Role = Role::Shared;
            type Element = [TensorStagingMemory<T>; $groups];
            type A = u32;
            type B = u32;
            type C = ();
            type D = ();
            type Value<'l> = TensorStaging<'l, T, $groups>;

            #[inline(always)]
            unsafe fn assemble(offset: u32, _: u32, (): (), (): ()) -> Self::Value<'static> {
                TensorStaging {
                    base: intrinsics::shared_address(dynamic_shared_tensors()) + offset,
                    launch: PhantomData,
                }
            }
        }
    )*};
}

staging!(1 2 3 4 5 6 7);
