//! The output of a product, and the tiles of it that blocks compute.

use core::marker::PhantomData;

use crate::abi::parameter::{Element, Role};
use crate::array::output::{Disjoint, Layout, Reach, Sealed};
use crate::array::strided::{Dimensions, element};
use crate::device::intrinsics;
use crate::device::thread::{block_idx_x, grid_dim_x};

use super::source::Form;
use super::stages::sealed::TiledMma;

/// The layout of the output of a [product](super): a batch of matrices with any strides, `[batch, rows, columns]`, in tiles
/// that the blocks of a grid of any size share out. [`ProductStages::product`](super::ProductStages::product) or
/// [`product_by_elements`](super::product_by_elements) consumes the output and writes it. The function and the size of
/// its tiles are part of the output's type, so that all blocks agree: `W` is the tiling, or [`ByElements`].
///
/// The host passes a runtime's array or view of three dimensions, or a slice with its shape.
#[derive(Debug)]
pub struct Product<W = ByElements>(PhantomData<W>);

/// What computes in [`product_by_elements`](super::product_by_elements).
#[derive(Debug)]
pub enum ByElements {}

impl<W> Sealed for Product<W> {}

impl<W> Layout for Product<W> {
    type Shape = Dimensions<3>;
    const ROLE: Role = Role::PerThread { rank: 1, elements: 1 };
    const REACH: Reach = Reach::All;
}

/// Elements that are written with one instruction: four of 4 bytes, or two of 8, 4 and 2.
#[repr(C, align(16))]
struct Four<T>([T; 4]);

#[repr(C, align(16))]
struct TwoLarge<T>([T; 2]);

#[repr(C, align(8))]
struct Two<T>([T; 2]);

#[repr(C, align(4))]
struct TwoSmall<T>([T; 2]);

/// Tiles in a band, from top to bottom: tiles that are computed at the same time lie in a square, and their operands stay in the
/// cache.
const BAND: u32 = 8;

/// The tiles that the calling block computes, in turn.
pub(super) struct Tiles {
    size: [u32; 2],
    down: u32,
    across: u32,
    next: u32,
    all: u32,
}

/// A tile: which matrix of the batch, and its first row and column.
#[derive(Clone, Copy)]
pub(super) struct TileStart {
    pub(super) layer: u32,
    pub(super) row: u32,
    pub(super) column: u32,
}

impl TileStart {
    /// Hides the values from the optimizer, so that results computed from them are computed at their use.
    #[inline(always)]
    pub(super) fn opaque(self) -> Self {
        Self {
            layer: intrinsics::opaque(self.layer),
            row: intrinsics::opaque(self.row),
            column: intrinsics::opaque(self.column),
        }
    }
}

impl Iterator for Tiles {
    type Item = TileStart;

    #[inline(always)]
    fn next(&mut self) -> Option<TileStart> {
        let number = self.next;
        if number >= self.all {
            return None;
        }
        // Saturates at `u32::MAX`, which is at least `all`, so the iteration ends.
        self.next = number.saturating_add(grid_dim_x());
        let of_a_layer = self.down * self.across;
        let (layer, number) = (number / of_a_layer, number % of_a_layer);
        let of_a_band = BAND * self.across;
        let (band, number) = (number / of_a_band, number % of_a_band);
        let rows = (self.down - BAND * band).min(BAND);
        Some(TileStart {
            layer,
            row: (BAND * band + number % rows) * self.size[0],
            column: number / rows * self.size[1],
        })
    }
}

impl<T: Element, W: TiledMma> Disjoint<'_, T, Product<W>> {
    /// Moves a tile at the edge back into the matrix, if the matrix is as large as a tile. The block's own rows and
    /// columns still begin at the next multiple of the tile's size; earlier rows and columns belong to another block.
    #[inline(always)]
    pub(super) fn moved(&self, tile: TileStart) -> TileStart {
        let [_, rows, columns] = self.shape.lengths;
        let back = |at: u32, length: u32, size: usize| {
            let size = size as u32;
            if length < size { at } else { at.min(intrinsics::opaque(length) - size) }
        };
        TileStart {
            layer: tile.layer,
            row: back(tile.row, rows, W::Left::LINES),
            column: back(tile.column, columns, W::Right::LINES),
        }
    }
}

impl<T: Element, W> Disjoint<'_, T, Product<W>> {
    /// The tiles, of so many rows and columns, of the calling block. No two blocks have the same.
    #[inline(always)]
    pub(super) fn tiles(&self, size: [usize; 2]) -> Tiles {
        let size = size.map(|length| length as u32);
        let [layers, rows, columns] = self.shape.lengths;
        let (down, across) = (rows.div_ceil(size[0]), columns.div_ceil(size[1]));
        // With more tiles than 32 bits can count, no tile is computed and the output stays unchanged.
        let all = down.checked_mul(across).and_then(|tiles| tiles.checked_mul(layers));
        Tiles { size, down, across, next: block_idx_x(), all: all.unwrap_or(0) }
    }

    /// Whether the elements of a column are closer together than those of a row.
    #[inline(always)]
    pub(super) fn is_by_columns(&self) -> bool {
        let [_, down, across] = self.shape.strides;
        down.unsigned_abs() < across.unsigned_abs() && self.shape.lengths[1] > 1
    }

    /// Whether the tile is complete, owned by the block alone and stored by rows, and each vector of a thread's
    /// `SIDE_BY_SIDE` neighbouring elements is aligned.
    #[inline(always)]
    pub(super) fn has_vectors(&self, tile: TileStart) -> bool
    where
        W: TiledMma,
    {
        let [_, rows, columns] = self.shape.lengths;
        let [layer, down, across] = self.shape.strides;
        let vector = W::SIDE_BY_SIDE as i32;
        across == 1
            && layer % vector == 0
            && down % vector == 0
            && self.start.addr().is_multiple_of(W::SIDE_BY_SIDE * size_of::<T>())
            && tile.row.is_multiple_of(W::Left::LINES as u32)
            && tile.column.is_multiple_of(W::Right::LINES as u32)
            && rows - tile.row >= W::Left::LINES as u32
            && columns - tile.column >= W::Right::LINES as u32
    }

    /// Writes elements of a row as a vector.
    ///
    /// # Safety
    /// The calling thread owns the elements, in a tile for which [`has_vectors`](Self::has_vectors) is true.
    #[inline(always)]
    pub(super) unsafe fn write_vector<S: Copy>(
        &mut self,
        [layer, row, column]: [usize; 3],
        sums: &[S],
        value: &impl Fn(S) -> T,
    ) {
        let [layers, down, _] = self.shape.strides;
        let offset = layer as isize * layers as isize + row as isize * down as isize + column as isize;
        let to = self.start.wrapping_offset(offset);
        // SAFETY: elements of the tile, aligned as vectors of them, which have no padding; the caller's.
        unsafe {
            match (sums, size_of::<T>()) {
                ([a, b, c, d], 4) => to.cast::<Four<T>>().write(Four([value(*a), value(*b), value(*c), value(*d)])),
                ([a, b], 8) => to.cast::<TwoLarge<T>>().write(TwoLarge([value(*a), value(*b)])),
                ([a, b], 4) => to.cast::<Two<T>>().write(Two([value(*a), value(*b)])),
                ([a, b], 2) => to.cast::<TwoSmall<T>>().write(TwoSmall([value(*a), value(*b)])),
                _ => {
                    for (i, sum) in sums.iter().enumerate() {
                        to.wrapping_add(i).write(value(*sum));
                    }
                }
            }
        }
    }

    /// Calls `work` with the index of an element and the element, if the element exists.
    ///
    /// # Safety
    /// The element is the calling thread's.
    #[inline(always)]
    pub(super) unsafe fn visit(&mut self, index: [usize; 3], work: impl FnOnce([usize; 3], &mut T)) {
        if let Some(offset) = self.shape.offset(index) {
            // SAFETY: inside the shape, whose elements are distinct; the caller's.
            work(index, unsafe { &mut *element(self.start, offset) });
        }
    }
}
