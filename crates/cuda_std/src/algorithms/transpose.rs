//! The transpose of a matrix by one launch, through shared memory.
//!
//! Neighbouring threads should read neighbouring elements and write neighbouring elements, which cannot both be so if each
//! thread writes what it has read. So a block reads a tile by rows into shared memory and writes it by columns. The tile
//! is a column wider than the matrix's part of it: elements below each other then lie in different banks of the shared
//! memory, and a warp reads 32 of them at once. A thread has eight elements, to keep enough reads under way.

use bytemuck::Pod;

use crate::array::output::{Disjoint, Tiles, Transposed};
use crate::array::view::View2;
use crate::mem::shared::{Shared, Tile2};

/// Rows and columns of a block's tile.
pub const TILE: usize = 64;

/// Threads of a block along x and y.
pub const BLOCK: (u32, u32) = (64, 8);

/// The output of a transpose: a tile for each block.
pub type Output<'l, T> = Disjoint<'l, T, Tiles<TILE, TILE, Transposed>>;

/// `output[x][y] = input[y][x]`
///
/// A launch is 2-D, with blocks of [`BLOCK`] threads, one for each tile of the input: x for columns, y for rows.
#[inline(always)]
pub fn transpose<T: Pod>(input: &[T], mut output: Output<T>, mut tile: Shared<Tile2<T, TILE, { TILE + 1 }>>) {
    let (rows, columns) = (output.columns(), output.rows());
    let input = View2::new(input, [rows, columns]);
    let [left, top] = output.tile_start();
    tile.part().each(|[y, x], own| {
        // The additional column is never read.
        if x < TILE {
            *own = input.get([top + y, left + x]).copied().unwrap_or_else(T::zeroed);
        }
    });
    let tile = tile.sync();
    output.each(|place, output| {
        let [x, y] = place.in_tile;
        *output = tile[y][x];
    });
}
