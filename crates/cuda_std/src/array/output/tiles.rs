//! Matrix outputs of which each block has a tile, and each thread several elements of it.

use core::marker::PhantomData;

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role, demand};
use crate::device::thread::{block_dim_x, block_dim_y, block_idx_x, block_idx_y, thread_idx_x, thread_idx_y};

/// The layout of a matrix in which each block of a 2-D launch has a tile of `ROWS` by `COLUMNS` elements; thread (x, y) of the block
/// has row y, column x of the tile, and those whole blocks further down or to the right.
///
/// The host passes it with its shape, `(&mut c, [rows, columns])`. Tiles at the edges are cut off. The block at (x, y)
/// has the tile in row y, column x of tiles, or the other way round if `ORDER` is [`Transposed`]: then the blocks that
/// go through the rows of an input write the columns of its transpose.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// b = the transpose of a, in blocks of 32 by 8 threads. The rows of the tile are padded, so that reading down its
/// /// columns meets all memory banks.
/// #[kernel]
/// pub fn transpose_tile(
///     a: &[f32],
///     mut b: Disjoint<f32, Tiles<32, 32, Transposed>>,
///     mut tile: Shared<Tile2<f32, 32, 32, 1>>,
/// ) {
///     let (rows, columns) = (b.columns(), b.rows());
///     let (block, start) = (thread::block_idx(), 32);
///     let (top, left) = (block.y as usize * start, block.x as usize * start);
///     tile.part().each(|[row, column], own| {
///         let (row, column) = (top + row, left + column);
///         if row < rows && column < columns {
///             *own = a[row * columns + column];
///         }
///     });
///     let tile = tile.sync();
///     b.each(|at, b| *b = tile[at.in_tile[1]][at.in_tile[0]]);
/// }
///
/// # fn main() {
/// let a: Vec<f32> = (0..40 * 70).map(|i| i as f32).collect();
/// let mut b = vec![0.0_f32; 70 * 40];
/// examples::launch(((3, 2), (32, 8)), transpose_tile(&a, (&mut b, [70, 40])));
/// assert!((0..40).all(|row| (0..70).all(|column| b[column * 40 + row] == a[row * 70 + column])));
/// # examples::becomes("transpose_tile", &["st.shared.b32", "ld.shared.b32", "ld.global.nc.b32", "st.global.b32"]);
/// # }
/// ```
#[derive(Debug)]
pub struct Tiles<const ROWS: usize, const COLUMNS: usize, ORDER = ByRows>(PhantomData<ORDER>);

/// The most rows and columns of a tile. A grid has fewer than 2³¹ blocks in each direction, so that no place wraps.
pub(crate) const MOST: usize = 1 << 20;

/// The order of [`Tiles`] in which the block at (x, y) has the tile in row y, column x.
#[derive(Debug)]
pub enum ByRows {}

/// The order of [`Tiles`] in which the block at (x, y) has the tile in row x, column y.
#[derive(Debug)]
pub enum Transposed {}

mod sealed {
    pub trait Order {
        const IS_TRANSPOSED: bool;

        /// Row and column of the block's tile, in tiles.
        fn tile() -> [u32; 2];
    }
}
use sealed::Order;

impl Order for ByRows {
    const IS_TRANSPOSED: bool = false;

    #[inline(always)]
    fn tile() -> [u32; 2] {
        [block_idx_y(), block_idx_x()]
    }
}

impl Order for Transposed {
    const IS_TRANSPOSED: bool = true;

    #[inline(always)]
    fn tile() -> [u32; 2] {
        [block_idx_x(), block_idx_y()]
    }
}

/// Where an element of a [`Tiles`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TilePlace {
    /// Row and column in the matrix.
    pub in_matrix: [usize; 2],
    /// Row and column in the tile.
    pub in_tile: [usize; 2],
    /// The position among the thread's elements, downwards and to the right.
    pub step: [usize; 2],
}

impl<const ROWS: usize, const COLUMNS: usize, O: Order> Sealed for Tiles<ROWS, COLUMNS, O> {}

impl<const ROWS: usize, const COLUMNS: usize, O: Order> Layout for Tiles<ROWS, COLUMNS, O> {
    type Shape = [u32; 2];
    const ROLE: Role = {
        demand(ROWS > 0 && COLUMNS > 0 && ROWS <= MOST && COLUMNS <= MOST, "a tile has 1 to 2^20 rows and columns");
        Role::PerThread { rank: 2, elements: 1 }
    };
    const REACH: Reach =
        if O::IS_TRANSPOSED { Reach::TransposedTile([COLUMNS, ROWS]) } else { Reach::Tile([COLUMNS, ROWS]) };
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize, O: Order> Disjoint<'_, T, Tiles<ROWS, COLUMNS, O>> {
    /// Row and column of the matrix at which the block's tile starts. Beyond the edges there may be none.
    #[inline(always)]
    #[must_use]
    pub fn tile_start(&self) -> [usize; 2] {
        let _ = Tiles::<ROWS, COLUMNS, O>::ROLE;
        let [row, column] = O::tile();
        [row as usize * ROWS, column as usize * COLUMNS]
    }

    /// Calls `work` with each of the thread's elements and where it is.
    ///
    /// Whether the tile lies within the matrix is asked once; in a tile that does, no element is checked.
    ///
    /// `st.global`, `ld.global`; PTX 1.0.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(TilePlace, &mut T)) {
        let [top, left] = self.tile_start();
        let (rows, columns) = (self.rows(), self.columns());
        let inside = top + ROWS <= rows && left + COLUMNS <= columns;
        self.visit(|place, element| {
            let [row, column] = place.in_matrix;
            if inside || (row < rows && column < columns) {
                // SAFETY: within the matrix, and the thread's own: `visit`'s.
                work(place, unsafe { &mut *element });
            }
        });
    }

    /// Calls `work` with the place of each of the thread's elements, and where it would be in memory. No two threads
    /// are given the same place: a block has its own tile, and the thread the rows and columns of it that leave its
    /// own when divided by the block's sizes.
    #[inline(always)]
    fn visit(&mut self, mut work: impl FnMut(TilePlace, *mut T)) {
        let [top, left] = self.tile_start();
        let (first_row, first_column) = (thread_idx_y(), thread_idx_x());
        let (down, right) = (block_dim_y(), block_dim_x());
        let first = (top + first_row as usize).wrapping_mul(self.columns()).wrapping_add(left + first_column as usize);
        let mut line = self.start.wrapping_add(first);
        // How often the loops go around does not depend on the thread, so that they are unrolled in blocks of a stated shape.
        let (mut down_by, mut i) = (0, 0);
        while down_by < ROWS as u32 {
            let (mut right_by, mut j) = (0, 0);
            while right_by < COLUMNS as u32 {
                let in_tile = [(first_row + down_by) as usize, (first_column + right_by) as usize];
                if in_tile[0] < ROWS && in_tile[1] < COLUMNS {
                    let place = TilePlace { in_matrix: [top + in_tile[0], left + in_tile[1]], in_tile, step: [i, j] };
                    work(place, line.wrapping_add(right_by as usize));
                }
                (right_by, j) = (right_by + right, j + 1);
            }
            line = line.wrapping_add((down as usize).wrapping_mul(self.columns()));
            (down_by, i) = (down_by + down, i + 1);
        }
    }
}
