//! Matrices that warp groups write with ordinary stores: of any row length, and with numbers of any size. And sums whose parts
//! are computed by several blocks of a cluster.

use core::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use super::accumulator::{Accumulator, first_place, register_place};
use super::output::{Places, TileOrigin, Tiling};
use super::pipeline::{Consumer, WARP_GROUP, assert_cluster};
use super::tile::Stored;
use super::wait::wait_for_cluster;
use super::width::{Columns, Number, Width};
use crate::abi::parameter::{KernelParameter, Role};
use crate::array::strided::read_four;
use crate::collective::warp::FULL_MASK;
use crate::device::intrinsics;
use crate::device::sync::sync_warp;
use crate::device::thread::{index_in_block, is_first_in_block, lane_id};
use crate::device::wgmma::{self, Sums as _};
use crate::mem::shared::dynamic_shared_tensors;

/// How the matrices of a [`MatrixOutput`] lie.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Extent {
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) batches: u32,
    /// In elements, as the next.
    pub(crate) row_stride: u32,
    pub(crate) batch_stride: u64,
}

/// A matrix in global memory, or several, to be written with ordinary stores in tiles, each by one block. A parameter of a kernel,
/// for which the host passes what it passes for a [`TensorOutput`](super::TensorOutput); rows may be of any length here, and begin
/// anywhere. `O`, a [`Tiling`], says which block writes what.
#[derive(Debug)]
pub struct MatrixOutput<'l, T, O> {
    start: *mut T,
    extent: Extent,
    launch: PhantomData<(&'l mut [T], O)>,
}

impl<T: Pod, O> MatrixOutput<'_, T, O> {
    /// How many rows each matrix has.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.extent.rows
    }

    /// How many columns each matrix has.
    #[inline(always)]
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.extent.columns
    }

    /// How many matrices there are.
    #[inline(always)]
    #[must_use]
    pub fn batches(&self) -> u32 {
        self.extent.batches
    }

    /// Whether `NUMBER` neighbours can be stored at once where the first has a column that `NUMBER` divides.
    #[inline(always)]
    fn aligned<const NUMBER: u32>(&self) -> bool {
        let bytes = NUMBER * size_of::<T>() as u32;
        self.extent.row_stride.is_multiple_of(NUMBER)
            && self.extent.batch_stride.is_multiple_of(u64::from(NUMBER))
            && (self.start as usize as u32).is_multiple_of(bytes)
    }
}

impl<'l, T: Pod, const ROWS: usize, const COLUMNS: usize, const BAND: u32, const DOWN: u32, const ACROSS: u32>
    MatrixOutput<'l, T, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS>>
{
    /// The tiles that this block writes, so that all blocks together write each once. The grid may have any number of blocks.
    ///
    /// # Panics
    /// If the cluster has not `DOWN` times `ACROSS` blocks.
    #[inline(always)]
    #[must_use]
    pub fn tiles(self) -> MatrixTiles<'l, T, ROWS, COLUMNS> {
        self.sliced()
    }
}

impl<
    'l,
    T: Pod,
    const ROWS: usize,
    const COLUMNS: usize,
    const BAND: u32,
    const DOWN: u32,
    const ACROSS: u32,
    const SLICES: u32,
> MatrixOutput<'l, T, Tiling<ROWS, COLUMNS, BAND, DOWN, ACROSS, SLICES>>
{
    /// The tiles that this block writes, or of which it writes a part: each block of `SLICES` another.
    #[inline(always)]
    pub(super) fn sliced(self) -> MatrixTiles<'l, T, ROWS, COLUMNS> {
        assert_cluster(Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS, SLICES>::CLUSTER);
        MatrixTiles {
            places: self.places(),
            pairs: self.aligned::<2>(),
            fours: self.aligned::<4>(),
            start: self.start,
            extent: self.extent,
            output: PhantomData,
        }
    }

    /// Where these tiles are.
    #[inline(always)]
    pub(super) fn places(&self) -> Places<ROWS, COLUMNS> {
        Tiling::<ROWS, COLUMNS, BAND, DOWN, ACROSS, SLICES>::places([self.batches(), self.rows(), self.columns()])
    }
}

/// The tiles of a [`MatrixOutput`] that a block writes, in turn.
#[derive(Debug)]
pub struct MatrixTiles<'l, T, const ROWS: usize, const COLUMNS: usize> {
    start: *mut T,
    extent: Extent,
    pairs: bool,
    fours: bool,
    places: Places<ROWS, COLUMNS>,
    output: PhantomData<&'l mut [T]>,
}

impl<T, const ROWS: usize, const COLUMNS: usize> MatrixTiles<'_, T, ROWS, COLUMNS> {
    /// Where the tiles are, for the producer, which brings what they are computed of.
    #[inline(always)]
    #[must_use]
    pub fn places(&self) -> Places<ROWS, COLUMNS> {
        self.places
    }
}

/// The next tile.
impl<'l, T: Pod, const ROWS: usize, const COLUMNS: usize> Iterator for MatrixTiles<'l, T, ROWS, COLUMNS> {
    type Item = MatrixTile<'l, T, ROWS, COLUMNS>;

    #[inline(always)]
    fn next(&mut self) -> Option<MatrixTile<'l, T, ROWS, COLUMNS>> {
        let place = self.places.next_place()?;
        let Extent { rows, columns, row_stride, batch_stride, .. } = self.extent;
        let offset = u64::from(place.batch) * batch_stride
            + u64::from(place.row) * u64::from(row_stride)
            + u64::from(place.column);
        Some(MatrixTile {
            // Perhaps beyond the matrix: nothing is written there.
            start: self.start.wrapping_add(offset as usize),
            row_stride,
            rows: rows.saturating_sub(place.row),
            columns: columns.saturating_sub(place.column),
            pairs: self.pairs,
            fours: self.fours,
            place,
            output: PhantomData,
        })
    }
}

/// A tile of a [`MatrixOutput`], which this block alone writes.
#[derive(Debug)]
pub struct MatrixTile<'l, T, const ROWS: usize, const COLUMNS: usize> {
    start: *mut T,
    row_stride: u32,
    /// From here to the ends of the matrix.
    rows: u32,
    columns: u32,
    pairs: bool,
    pub(super) fours: bool,
    place: TileOrigin,
    output: PhantomData<&'l mut [T]>,
}

impl<T: Pod, const ROWS: usize, const COLUMNS: usize> MatrixTile<'_, T, ROWS, COLUMNS> {
    /// Where it begins.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> TileOrigin {
        self.place
    }

    /// Writes the part of the tile that the warp group of `consumer` has the sums of: what `result` makes of row, column and sum.
    #[inline(always)]
    pub fn write<V, N, S, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32>(
        self,
        consumer: &Consumer<'_, S, STAGES, GROUPS, CLUSTER>,
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
        }
        let [row, column] = first_place();
        let row = row + 64 * consumer.rank();
        sums.sums.pairs(|register, low, high| {
            let [down, right] = register_place(register);
            let (row, column) = (row + down, column + right);
            let (all_row, all_column) = (self.place.row + row, self.place.column + column);
            let values = [T::round(result(all_row, all_column, low)), T::round(result(all_row, all_column + 1, high))];
            // SAFETY: of the block's tile, and this thread's alone: the warp group's rows, of which it has these sums.
            unsafe { self.store(self.pairs, row, column, values) }
        });
    }

    /// Stores neighbouring elements; elements outside the matrix are skipped.
    ///
    /// # Safety
    ///
    /// The elements lie in the tile and belong to this thread. If `together`, the first is aligned to the size of all.
    #[inline(always)]
    pub(super) unsafe fn store<const NUMBER: usize>(&self, together: bool, row: u32, column: u32, values: [T; NUMBER]) {
        #[derive(Clone, Copy)]
        #[repr(C, align(16))]
        struct Sixteen([u32; 4]);

        if row >= self.rows || column >= self.columns {
            return;
        }
        // SAFETY: the elements are inside the matrix, as checked; the caller guarantees the rest. The type of each
        // vector store has the size of all values.
        unsafe {
            let first = self.start.add((u64::from(row) * u64::from(self.row_stride)) as usize + column as usize);
            let all = column + (NUMBER as u32) <= self.columns;
            // Vector stores have 2, 4, 8 or 16 bytes. Other sizes are stored element by element.
            match const { NUMBER * size_of::<T>() } {
                2 if together && all => first.cast::<u16>().write(core::mem::transmute_copy(&values)),
                4 if together && all => first.cast::<u32>().write(core::mem::transmute_copy(&values)),
                8 if together && all => first.cast::<u64>().write(core::mem::transmute_copy(&values)),
                16 if together && all => first.cast::<Sixteen>().write(core::mem::transmute_copy(&values)),
                _ => {
                    first.write(values[0]);
                    if NUMBER > 1 && column + 1 < self.columns {
                        first.add(1).write(values[1]);
                    }
                    if NUMBER > 2 && column + 2 < self.columns {
                        first.add(2).write(values[2]);
                    }
                    if NUMBER > 3 && column + 3 < self.columns {
                        first.add(3).write(values[3]);
                    }
                }
            }
        }
    }
}

impl<T: Pod, const ROWS: usize, const COLUMNS: usize> MatrixTile<'_, T, ROWS, COLUMNS> {
    /// Reads four neighbours, as far as the matrix has them, with zeros beyond.
    ///
    /// # Safety
    ///
    /// The elements are in the tile, and this thread's; the first has a column that 4 divides.
    #[inline(always)]
    pub(super) unsafe fn load_four(&self, row: u32, column: u32) -> [T; 4] {
        let zero = T::zeroed();
        if row >= self.rows || column >= self.columns {
            return [zero; 4];
        }
        // SAFETY: inside of the matrix, as was compared; what else has to hold is the caller's.
        unsafe {
            let first = self.start.add((u64::from(row) * u64::from(self.row_stride)) as usize + column as usize);
            let left = self.columns - column;
            if self.fours && left >= 4 {
                return read_four(first);
            }
            let get = |number: u32| {
                if number < left { first.add(number as usize).read() } else { zero }
            };
            [get(0), get(1), get(2), get(3)]
        }
    }
}

// SAFETY: address and extent of memory that is borrowed mutably; `tiles` gives each part of it to one block.
unsafe impl<T: Pod, O: 'static> KernelParameter for MatrixOutput<'_, T, O> {
    const ROLE: Role = Role::Value;
    type Element = T;
    type A = *mut T;
    type B = Extent;
    type C = ();
    type D = ();
    type Value<'l> = MatrixOutput<'l, T, O>;

    #[inline(always)]
    unsafe fn assemble(start: *mut T, extent: Extent, (): (), (): ()) -> Self::Value<'static> {
        MatrixOutput { start, extent, launch: PhantomData }
    }
}

/// Shared memory through which the `SLICES` blocks of a cluster that compute parts of the same sums add them up: `ROWS` by
/// `COLUMNS` of them. A parameter of a kernel, which the host does not pass.
#[derive(Debug)]
pub struct TensorExchange<'l, const ROWS: usize, const COLUMNS: usize, const SLICES: u32> {
    pub(super) base: u32,
    launch: PhantomData<(&'l (), *mut ())>,
}

/// The memory: the sums of one block, and the barriers that count its partners.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ExchangeMemory<const ROWS: usize, const COLUMNS: usize> {
    sums: [[f32; COLUMNS]; ROWS],
    ready: u64,
    free: u64,
}

impl<const ROWS: usize, const COLUMNS: usize, const SLICES: u32> TensorExchange<'_, ROWS, COLUMNS, SLICES> {
    #[inline(always)]
    fn ready(&self) -> u32 {
        self.base + core::mem::offset_of!(ExchangeMemory<ROWS, COLUMNS>, ready) as u32
    }

    #[inline(always)]
    fn free(&self) -> u32 {
        self.base + core::mem::offset_of!(ExchangeMemory<ROWS, COLUMNS>, free) as u32
    }

    /// Makes the barriers, before the block divides into roles.
    #[inline(always)]
    pub(super) fn initialise(&self, groups: u32) {
        if is_first_in_block() {
            // SAFETY: the barriers are in this memory, and no thread uses them yet.
            unsafe {
                wgmma::mbarrier_init(self.ready(), SLICES * 4 * groups);
                wgmma::mbarrier_init(self.free(), SLICES * 4 * groups);
                wgmma::fence_mbarrier_init();
            }
        }
    }

    /// Writes a tile: what `result` makes of batch, row, column and sum. Each of the blocks has a part of each sum, and writes a
    /// part of the tile. `number` counts the tiles. Where this block has none of the products, there are no sums.
    #[inline(always)]
    pub(super) fn write<T, V, S, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32>(
        &self,
        consumer: &Consumer<'_, S, STAGES, GROUPS, CLUSTER>,
        number: u32,
        tile: &MatrixTile<'_, T, ROWS, COLUMNS>,
        (sums, any): (&Accumulator<COLUMNS>, bool),
        result: &impl Fn([u32; 3], f32) -> V,
    ) where
        T: Stored<V>,
        S: super::Stage,
        Columns<COLUMNS>: Width,
    {
        const {
            assert!(ROWS == 64 * GROUPS as usize, "a tile has 64 rows for each warp group of consumers");
            assert!(COLUMNS.is_multiple_of(32), "rows of sums have whole 128 bytes");
        }
        let partners = CLUSTER / SLICES;
        let rank = intrinsics::rank_in_cluster();
        let (own, first) = (rank / partners, rank % partners);
        let lane = lane_id();
        let arrive = |barrier: u32| {
            sync_warp(FULL_MASK);
            if lane < SLICES {
                // SAFETY: the barrier counts these arrivals; other blocks of the cluster exist until all are done.
                unsafe { wgmma::mbarrier_arrive_release_cluster(barrier, first + lane * partners) }
            }
        };
        // All partners have read the sums of the previous tile. The first time, the phase before the first is over.
        wait_for_cluster::<CLUSTER>(self.free(), (number & 1) ^ 1);
        let [row, column] = first_place();
        let row = row + 64 * consumer.rank();
        sums.sums.pairs(|register, low, high| {
            let [down, right] = register_place(register);
            let (low, high) = if any { (low, high) } else { (0.0, 0.0) };
            // SAFETY: this block's memory, which is not read now, and this thread's sums.
            unsafe { wgmma::store_pair(self.place(row + down, column + right), low.to_bits(), high.to_bits()) }
        });
        arrive(self.ready());
        wait_for_cluster::<CLUSTER>(self.ready(), number & 1);
        let fours = COLUMNS as u32 / 4;
        let bound = |slice: u32| ROWS as u32 * fours * slice / SLICES;
        let start = bound(own) + index_in_block() % WARP_GROUP + WARP_GROUP * consumer.rank();
        let total = |at: u32| {
            let at = at.min(ROWS as u32 * fours - 1);
            let place = self.place(at / fours, at % fours * 4);
            let mut total = [0.0_f32; 4];
            for slice in 0..SLICES {
                // SAFETY: all partners have written their sums, and wait until they are read.
                let part = unsafe { wgmma::load_four(place, first + slice * partners) };
                total = [total[0] + part[0], total[1] + part[1], total[2] + part[2], total[3] + part[3]];
            }
            total
        };
        let store = |at: u32, total: [f32; 4]| {
            if at < bound(own + 1) {
                let (row, column) = (at / fours, at % fours * 4);
                let TileOrigin { batch, row: above, column: left } = tile.place;
                let value = |right: u32, sum: f32| T::round(result([batch, above + row, left + column + right], sum));
                let values = [value(0, total[0]), value(1, total[1]), value(2, total[2]), value(3, total[3])];
                // SAFETY: of the cluster's tile, this block's part, of which each thread has others.
                unsafe { tile.store(tile.fours, row, column, values) }
            }
        };
        // Each thread transfers four numbers at a time, because accesses across the cluster have a long latency. No
        // array, which would be in memory unless the loop over it is unrolled.
        let step = WARP_GROUP * GROUPS;
        let mut next = start;
        while next < bound(own + 1) {
            let [one, two, three] = [next + step, next + 2 * step, next + 3 * step];
            let totals = (total(next), total(one), total(two), total(three));
            store(next, totals.0);
            store(one, totals.1);
            store(two, totals.2);
            store(three, totals.3);
            next += 4 * step;
        }
        arrive(self.free());
    }

    /// Waits until the partners have read the sums of the last of so many tiles, and so arrived for the last time: what they do
    /// to this block's memory is over.
    #[inline(always)]
    pub(super) fn finish<const CLUSTER: u32>(&self, tiles: u32) {
        if tiles > 0 {
            wait_for_cluster::<CLUSTER>(self.free(), (tiles & 1) ^ 1);
        }
    }

    /// Where a sum lies, and the three right of it if its column is a multiple of four. Columns are exchanged in eights, so that those
    /// of neighbouring rows are in different banks.
    #[inline(always)]
    fn place(&self, row: u32, column: u32) -> u32 {
        self.base + (row * COLUMNS as u32 + (column ^ (row % 4 * 8))) * 4
    }
}

// SAFETY: a part of the launch's dynamic shared memory, which the launcher lays out; all threads get the same.
unsafe impl<const ROWS: usize, const COLUMNS: usize, const SLICES: u32> KernelParameter
    for TensorExchange<'_, ROWS, COLUMNS, SLICES>
{
    const ROLE: Role = Role::Shared;
    type Element = ExchangeMemory<ROWS, COLUMNS>;
    type A = u32;
    type B = u32;
    type C = ();
    type D = ();
    type Value<'l> = TensorExchange<'l, ROWS, COLUMNS, SLICES>;

    #[inline(always)]
    unsafe fn assemble(offset: u32, _: u32, (): (), (): ()) -> Self::Value<'static> {
        TensorExchange { base: intrinsics::shared_address(dynamic_shared_tensors()) + offset, launch: PhantomData }
    }
}
