//! What warp groups write: which block has which tile of a matrix, and the way there through shared memory.

use core::marker::PhantomData;

use super::accumulator::{Accumulator, Columns, Width};
use super::map::TensorOutput;
use super::pipeline::Consumer;
use super::tile::{Element, Swizzled, Tile, sealed};
use crate::abi::parameter::{KernelParameter, Role};
use crate::collective::warp::FULL_MASK;
use crate::device::intrinsics;
use crate::device::sync::sync_warp;
use crate::device::thread::{block_number, grid_dim, lane_id};
use crate::device::wgmma;
use crate::mem::shared::dynamic_shared_tensors;

/// In which order the tiles of a matrix are computed: in bands of so many tiles from top to bottom, and in each column by
/// column. Tiles that are computed at the same time then lie in a square, and their operands stay in the cache.
#[derive(Clone, Copy, Debug)]
pub struct Bands(pub u32);

/// The tiles of a matrix, `ROWS` by `COLUMNS` each, that one block computes, in turn. The blocks of a cluster have tiles one
/// below the other.
#[derive(Clone, Copy, Debug)]
pub struct Places<const ROWS: u32, const COLUMNS: u32, const CLUSTER: u32 = 1> {
    rows: u32,
    columns: u32,
    band: u32,
    next: u32,
    all: u32,
}

impl<const ROWS: u32, const COLUMNS: u32, const CLUSTER: u32> Places<ROWS, COLUMNS, CLUSTER> {
    #[inline(always)]
    fn new([rows, columns]: [u32; 2], Bands(band): Bands) -> Self {
        const { assert!(ROWS > 0 && COLUMNS > 0 && CLUSTER > 0, "tiles have rows and columns") };
        // Of whole clusters: `block_number` counts the blocks of a cluster one after the other.
        let (rows, columns) = (rows.div_ceil(ROWS).div_ceil(CLUSTER), columns.div_ceil(COLUMNS));
        Self {
            rows,
            columns,
            band: band.max(1),
            next: block_number() as u32 / CLUSTER,
            all: rows * columns,
        }
    }
}

/// The first row and column of each tile.
impl<const ROWS: u32, const COLUMNS: u32, const CLUSTER: u32> Iterator for Places<ROWS, COLUMNS, CLUSTER> {
    type Item = [u32; 2];

    #[inline(always)]
    fn next(&mut self) -> Option<[u32; 2]> {
        if self.next >= self.all {
            return None;
        }
        let per_band = self.band * self.columns;
        let (band, rest) = (self.next / per_band, self.next % per_band);
        let first = band * self.band;
        let height = self.band.min(self.rows - first);
        let (row, column) = (first + rest % height, rest / height);
        let step = grid_dim().x / CLUSTER;
        self.next = self.next.checked_add(step).unwrap_or(self.all);
        let rank = block_number() as u32 % CLUSTER;
        Some([(row * CLUSTER + rank) * ROWS, column * COLUMNS])
    }
}

/// The tiles of an output that a block writes, in turn: [`TensorOutput::tiles`].
#[derive(Debug)]
pub struct OutputTiles<'l, T: Tile, const ROWS: u32, const COLUMNS: u32, const CLUSTER: u32> {
    output: TensorOutput<'l, T>,
    places: Places<ROWS, COLUMNS, CLUSTER>,
}

impl<'l, T: Tile> TensorOutput<'l, T> {
    /// The tiles that this block writes, of `ROWS` by `COLUMNS` elements, so that all blocks together write each once. The
    /// blocks of a cluster have tiles one below the other. The grid has one dimension, and may have any number of blocks.
    ///
    /// # Panics
    /// If the grid has more dimensions than one.
    #[inline(always)]
    #[must_use]
    pub fn tiles<const ROWS: u32, const COLUMNS: u32, const CLUSTER: u32>(
        self,
        order: Bands,
    ) -> OutputTiles<'l, T, ROWS, COLUMNS, CLUSTER> {
        let grid = grid_dim();
        assert!(
            grid.y == 1 && grid.z == 1 && grid.x.is_multiple_of(CLUSTER),
            "tiles are shared out along one dimension, in whole clusters"
        );
        let places = Places::new([self.rows(), self.columns()], order);
        OutputTiles { output: self, places }
    }
}

impl<'l, T: Tile, const ROWS: u32, const COLUMNS: u32, const CLUSTER: u32> OutputTiles<'l, T, ROWS, COLUMNS, CLUSTER> {
    /// Where the tiles are, for the producer, which brings what they are computed of.
    #[inline(always)]
    #[must_use]
    pub fn places(&self) -> Places<ROWS, COLUMNS, CLUSTER> {
        self.places
    }

    /// The next tile.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::should_implement_trait, reason = "a tile borrows the output, which is written to one tile at a time")]
    pub fn next(&mut self) -> Option<OutputTile<'_, T, ROWS, COLUMNS>> {
        let [row, column] = self.places.next()?;
        Some(OutputTile {
            image: self.output.image(),
            row,
            column,
            output: PhantomData,
        })
    }
}

/// A tile of an output, which this block alone writes.
#[derive(Debug)]
pub struct OutputTile<'o, T: Tile, const ROWS: u32, const COLUMNS: u32> {
    image: *const u8,
    row: u32,
    column: u32,
    output: PhantomData<&'o T>,
}

impl<T: Element, const WIDE: usize, const ROWS: u32, const COLUMNS: u32>
    OutputTile<'_, Swizzled<T, 16, WIDE>, ROWS, COLUMNS>
{
    /// Its first row and column.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> [u32; 2] {
        [self.row, self.column]
    }

    /// Writes the sums of all consumers' warp groups to the tile, the first to its first 64 rows. Each warp takes its 16 rows
    /// through shared memory, `WIDE` columns at a time, and does not wait for them to arrive.
    ///
    /// `stmatrix`; PTX 7.8, sm_90. `cp.async.bulk.tensor.2d.global`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn store<S: super::Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32, const WIDTH: usize>(
        self,
        consumer: &Consumer<'_, S, STAGES, GROUPS, CLUSTER>,
        staging: &mut TensorStaging<'_, Swizzled<T, 16, WIDE>, GROUPS>,
        sums: &Accumulator<WIDTH>,
    ) where
        Columns<WIDTH>: Width,
    {
        const {
            assert!(ROWS == 64 * GROUPS, "a tile has 64 rows for each warp group of consumers");
            assert!(COLUMNS as usize == WIDTH, "a tile has as many columns as its sums");
            assert!(
                WIDE == 64 && size_of::<T>() == 2,
                "a warp writes 64 columns of 16 bits at a time: the output is of tiles `Swizzled<T, 16, 64>`"
            );
        }
        let (warp, lane) = (consumer.warp(), lane_id());
        let bytes = <Swizzled<T, 16, WIDE> as sealed::Tile>::BYTES;
        let buffers = staging.base + warp * 2 * bytes;
        // `stmatrix` takes the addresses of rows of 8 columns, of the upper 8 rows and the lower, of two such columns. The
        // swizzle exchanges columns by the row: PTX ISA, "Swizzling Modes".
        let row = lane % 16 * 128 + ((lane / 16 ^ lane % 8) << 4);
        sums.each_sixteen_columns(|sixteen, v| {
            let buffer = buffers + sixteen / 4 % 2 * bytes;
            // SAFETY: the buffer is this warp's, all lanes of which come here, and its last copy but one has read it. The rows
            // of the output are this warp's, of the block's tile.
            unsafe {
                if sixteen % 4 == 0 {
                    if lane == 0 {
                        wgmma::store_wait_read_1();
                    }
                    sync_warp(FULL_MASK);
                }
                wgmma::stmatrix_x4(
                    (buffer + row) ^ sixteen % 4 * 32,
                    T::pack(v[0], v[1]),
                    T::pack(v[2], v[3]),
                    T::pack(v[4], v[5]),
                    T::pack(v[6], v[7]),
                );
                if sixteen % 4 == 3 {
                    wgmma::fence_proxy_async();
                    sync_warp(FULL_MASK);
                    if lane == 0 {
                        let (row, column) = (self.row + warp * 16, self.column + sixteen / 4 * 64);
                        wgmma::store_tile(self.image, row, column, buffer);
                        wgmma::store_commit();
                    }
                }
            }
        });
    }
}

/// Shared memory through which the warps of `GROUPS` warp groups write: two tiles `T` for each warp. A parameter of a kernel,
/// which the host does not pass.
#[derive(Debug)]
pub struct TensorStaging<'l, T: Tile, const GROUPS: u32> {
    base: u32,
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
