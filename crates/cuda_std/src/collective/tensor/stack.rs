//! Matrices of an array with four dimensions: tensor maps of such arrays, and how blocks write them.

use core::marker::PhantomData;
use core::num::NonZeroU32;

use bytemuck::{Pod, Zeroable};

use super::accumulator::{Accumulator, Packed};
use super::map::{Image, assert_sixteen, prefetch, role};
use super::output::TensorStaging;
use super::pipeline::Consumer;
use super::tile::{Element, Swizzled, Tile, sealed};
use super::width::{Columns, Width};
use crate::abi::parameter::{KernelParameter, Role};
use crate::collective::warp::FULL_MASK;
use crate::device::sync::sync_warp;
use crate::device::thread::{block_number, grid_dim, lane_id};
use crate::device::{warp_group, wgmma};

/// An array of matrices in global memory, `[outer, inner, rows, columns]`, to be copied from in tiles of type `T`. A parameter of
/// a kernel, for which the host passes a view of an array with four dimensions. The elements of a row lie one after the other;
/// the other strides are any.
///
/// A tile may begin at any row of a matrix, and at any column whose byte in the row is a multiple of 16; what lies beyond the matrix is
/// zero.
#[derive(Debug)]
pub struct TensorMap4<'l, T: Tile> {
    image: *const Image,
    shape: [u32; 3],
    launch: PhantomData<&'l T>,
}

impl<T: Tile> Clone for TensorMap4<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Tile> Copy for TensorMap4<'_, T> {}

impl<'l, T: Tile> TensorMap4<'l, T> {
    /// The lengths of the two outer dimensions, and of the rows.
    #[inline(always)]
    #[must_use]
    pub fn shape(&self) -> [u32; 3] {
        self.shape
    }

    /// The tile that begins at a row and the first column of a matrix.
    #[inline(always)]
    #[must_use]
    pub fn at(self, place: [u32; 3]) -> Source4<'l, T> {
        Source4 { map: self, place, column: 0 }
    }

    /// Has the device read the map before it is used, once for the block.
    ///
    /// `prefetch.tensormap`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn prefetch(&self) {
        // SAFETY: the map is a parameter of the launch.
        unsafe { prefetch(self.image) }
    }
}

/// Where tiles of a stage are copied from: [`TensorMap4::at`].
#[derive(Debug)]
pub struct Source4<'l, T: Tile> {
    map: TensorMap4<'l, T>,
    place: [u32; 3],
    column: u32,
}

impl<T: Tile> Source4<'_, T> {
    /// The tile that begins at another column.
    ///
    /// # Panics
    /// If the column does not begin at a multiple of 16 bytes.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn column(self, column: u32) -> Self {
        assert_sixteen::<T::Element>(column);
        Self { column, ..self }
    }

    /// Starts to copy the tile that begins at a column.
    ///
    /// # Safety
    ///
    /// The tile is this thread's to fill until the phase of the barrier is over.
    #[inline(always)]
    pub(super) unsafe fn fill(&self, column: u32, tile: u32, barrier: u32) {
        let [outer, inner, row] = self.place;
        // SAFETY: the caller's; the map is a parameter of the launch.
        unsafe {
            warp_group::load_tile_4d(tile, self.map.image.cast(), self.column + column, row, inner, outer, barrier);
        }
    }
}

// SAFETY: as for `TensorMap`.
unsafe impl<T: Tile> KernelParameter for TensorMap4<'_, T> {
    const ROLE: Role = role::<T>(false);
    type Element = Image;
    type A = *const Image;
    type B = u32;
    type C = u32;
    type D = u32;
    type Value<'l> = TensorMap4<'l, T>;

    #[inline(always)]
    unsafe fn assemble(image: *const Image, outer: u32, inner: u32, rows: u32) -> Self::Value<'static> {
        TensorMap4 { image, shape: [outer, inner, rows], launch: PhantomData }
    }
}

/// An array of matrices in global memory, `[outer, inner, rows, columns]`, to be written in tiles of type `T`, each by one block. A
/// parameter of a kernel, for which the host passes a mutable view of an array with four dimensions and an [`Order`]. What would lie
/// beyond a matrix is not written.
///
/// A block has parts of `ROWS` rows. That and the order are the parameter's: they have to be the same in all blocks.
#[derive(Debug)]
pub struct TensorOutput4<'l, T: Tile, const ROWS: u32> {
    map: TensorMap4<'l, T>,
    order: Order,
}

/// In which order parts of matrices are computed.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// How many matrices are computed together: of each the same rows, then of each the next ones.
    pub together: u32,
    /// Whether the last rows are the first to be computed: those that take longest, where they see more.
    pub last_first: bool,
}

/// How many rows an output's matrices have, and their order, as a kernel is passed them.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct RowsInOrder {
    pub(crate) rows: u32,
    pub(crate) together: u32,
    pub(crate) last_first: u32,
}

/// The parts of matrices, `ROWS` rows each, that one block computes, in turn: all columns of them.
#[derive(Clone, Copy, Debug)]
pub struct Bands4<const ROWS: u32> {
    inner: u32,
    matrices: u32,
    parts: u32,
    order: Order,
    round: u32,
}

impl<T: Tile, const ROWS: u32> TensorOutput4<'_, T, ROWS> {
    /// Has the device read the map before it is used: see [`TensorMap4::prefetch`].
    #[inline(always)]
    pub fn prefetch(&self) {
        self.map.prefetch();
    }
}

impl<'l, T: Tile, const ROWS: u32> TensorOutput4<'l, T, ROWS> {
    /// The parts of `ROWS` rows that this block writes, so that all blocks together write each once. The grid may have any
    /// number of blocks: each round of parts goes to the blocks in the opposite direction, so that all have as much to do where
    /// parts take less and less time.
    #[inline(always)]
    #[must_use]
    pub fn bands(self) -> OutputBands<'l, T, ROWS> {
        const { assert!(ROWS > 0, "a part has rows") };
        let order = self.order;
        let [outer, inner, rows] = self.map.shape;
        let matrices = outer * inner;
        let bands = Bands4 {
            inner,
            matrices,
            parts: rows.div_ceil(ROWS),
            order: Order { together: order.together.clamp(1, matrices.max(1)), ..order },
            round: 0,
        };
        OutputBands { output: self, bands }
    }
}

/// Quotient and rest, by a divisor that is not zero: there would be no part.
#[inline(always)]
fn divide(number: u32, divisor: u32) -> (u32, u32) {
    let divisor = NonZeroU32::new(divisor).unwrap_or(NonZeroU32::MIN);
    (number / divisor, number % divisor)
}

/// Outer and inner index of the matrix, and the first row.
impl<const ROWS: u32> Iterator for Bands4<ROWS> {
    type Item = [u32; 3];

    #[inline(always)]
    fn next(&mut self) -> Option<[u32; 3]> {
        let [x, y, z] = grid_dim().to_array();
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let (block, blocks) = (narrow(block_number()), narrow(u64::from(x) * u64::from(y) * u64::from(z)));
        let place = if self.round.is_multiple_of(2) { block } else { blocks - 1 - block };
        let number = u64::from(self.round) * u64::from(blocks) + u64::from(place);
        if number >= u64::from(self.matrices) * u64::from(self.parts) {
            return None;
        }
        self.round += 1;
        // An array has fewer rows than 32 bits count, says the launch.
        let (group, rest) = divide(number as u32, self.order.together * self.parts);
        let first = group * self.order.together;
        let (part, matrix) = divide(rest, self.order.together.min(self.matrices - first));
        let part = if self.order.last_first { self.parts - 1 - part } else { part };
        let (outer, inner) = divide(first + matrix, self.inner);
        Some([outer, inner, part * ROWS])
    }
}

/// The parts of an output that a block writes, in turn: [`TensorOutput4::bands`].
#[derive(Debug)]
pub struct OutputBands<'l, T: Tile, const ROWS: u32> {
    output: TensorOutput4<'l, T, ROWS>,
    bands: Bands4<ROWS>,
}

impl<T: Tile, const ROWS: u32> OutputBands<'_, T, ROWS> {
    /// Where the parts are, for the producer.
    #[inline(always)]
    #[must_use]
    pub fn places(&self) -> Bands4<ROWS> {
        self.bands
    }
}

impl<'l, T: Tile, const ROWS: u32> Iterator for OutputBands<'l, T, ROWS> {
    type Item = OutputBand<'l, T, ROWS>;

    #[inline(always)]
    fn next(&mut self) -> Option<OutputBand<'l, T, ROWS>> {
        let place = self.bands.next()?;
        Some(OutputBand { image: self.output.map.image.cast(), place, output: PhantomData })
    }
}

/// A part of an output, which this block alone writes.
#[derive(Debug)]
pub struct OutputBand<'l, T: Tile, const ROWS: u32> {
    image: *const u8,
    place: [u32; 3],
    output: PhantomData<&'l T>,
}

impl<T: Tile, const ROWS: u32> OutputBand<'_, T, ROWS> {
    /// Outer and inner index of its matrix, and its first row.
    #[inline(always)]
    #[must_use]
    pub fn place(&self) -> [u32; 3] {
        self.place
    }
}

impl<T: Element, const GROUPS: u32> TensorStaging<'_, Swizzled<T, 16, 64>, GROUPS> {
    /// Writes the rows of a part that the warp group of a consumer has, through its part of the staging memory. Each warp writes
    /// 16 rows, and does not wait for them to arrive.
    ///
    /// `stmatrix`; PTX 7.8, sm_90. `cp.async.bulk.tensor.4d.global`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn write<S: super::Stage, const STAGES: usize, const ROWS: u32, const WIDTH: usize>(
        &mut self,
        consumer: &Consumer<'_, S, STAGES, GROUPS, 1>,
        band: OutputBand<'_, Swizzled<T, 16, 64>, ROWS>,
        sums: &Accumulator<WIDTH>,
    ) where
        Columns<WIDTH>: Width,
    {
        const {
            assert!(ROWS == 64 * GROUPS, "a part has 64 rows for each warp group of consumers");
            assert!(WIDTH.is_multiple_of(64) && WIDTH <= 256, "a warp writes 64 columns at a time");
        }
        let mut numbers = Packed::<T, WIDTH>::zero();
        numbers.take(sums, |_, _, sum| sum);
        let (warp, lane) = (consumer.warp(), lane_id());
        let bytes = <Swizzled<T, 16, 64> as sealed::Tile>::BYTES;
        let buffers = self.base + warp * 2 * bytes;
        let [outer, inner, row] = band.place;
        let row = row + 16 * warp;
        macro_rules! panels {
            ($($panel:literal)*) => {$(
                if const { 64 * $panel < WIDTH } {
                    // The last is the second buffer, as it is where a `TensorWriter` ends.
                    let buffer = buffers + ($panel + WIDTH as u32 / 64) % 2 * bytes;
                    // SAFETY: the buffers are this warp's, all lanes of which come here, and earlier copies have read them. The
                    // rows of the output are this warp's, of the block's part.
                    unsafe {
                        // An odd number of panels begins with the buffer that the part before ended with.
                        if lane == 0 {
                            if $panel == 0 {
                                wgmma::store_wait_read();
                            } else {
                                wgmma::store_wait_read_1();
                            }
                        }
                        sync_warp(FULL_MASK);
                        // As in `TensorWriter`.
                        let address = buffer + lane % 16 * 128 + (((lane / 16) ^ (lane % 8)) << 4);
                        let store = |address, [a, b, c, d]: [u32; 4]| wgmma::stmatrix_x4(address, a, b, c, d);
                        store(address, numbers.sixteen(4 * $panel));
                        store(address ^ 32, numbers.sixteen(4 * $panel + 1));
                        store(address ^ 64, numbers.sixteen(4 * $panel + 2));
                        store(address ^ 96, numbers.sixteen(4 * $panel + 3));
                        wgmma::fence_proxy_async();
                        sync_warp(FULL_MASK);
                        if lane == 0 {
                            warp_group::store_tile_4d(band.image, 64 * $panel, row, inner, outer, buffer);
                            wgmma::store_commit();
                        }
                    }
                }
            )*};
        }
        panels!(0 1 2 3);
    }
}

// SAFETY: as for `TensorMap4`; the memory is borrowed mutably, and `bands` gives each part of it to one block.
unsafe impl<T: Tile, const ROWS: u32> KernelParameter for TensorOutput4<'_, T, ROWS> {
    const ROLE: Role = role::<T>(true);
    type Element = Image;
    type A = *const Image;
    type B = u32;
    type C = u32;
    type D = RowsInOrder;
    type Value<'l> = TensorOutput4<'l, T, ROWS>;

    #[inline(always)]
    unsafe fn assemble(image: *const Image, outer: u32, inner: u32, last: RowsInOrder) -> Self::Value<'static> {
        TensorOutput4 {
            // SAFETY: the caller's.
            map: unsafe { TensorMap4::<T>::assemble(image, outer, inner, last.rows) },
            order: Order { together: last.together, last_first: last.last_first != 0 },
        }
    }
}
