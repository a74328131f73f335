//! Transposition: rows become columns.
//!
//! Neighbouring threads should read neighbouring elements and write neighbouring elements, which cannot both be so if each
//! thread writes what it has read. So a block reads a tile by rows into shared memory and writes it by columns. The tile
//! is a column wider than the matrix's part of it: elements below each other then lie in different banks of the shared
//! memory, and a warp reads 32 of them at once. A thread has eight elements, to keep enough reads under way.

use cuda_std::prelude::*;
use cuda_std::view::View2;

/// Rows and columns of a block's tile.
pub const TILE: usize = 64;
/// Threads of a block along x and y.
pub const BLOCK: (u32, u32) = (64, 8);

/// `output[x][y] = input[y][x]`
///
/// Launch it in two dimensions with blocks of [`BLOCK`] threads, one for each tile of the input: x for columns, y for rows.
#[kernel(block = (64, 8))]
pub fn transpose(
    input: &[f32],
    mut output: Disjoint<f32, Tiles<TILE, TILE, Transposed>>,
    mut tile: Shared<Tile2<f32, TILE, { TILE + 1 }>>,
) {
    let (rows, columns) = (output.columns(), output.rows());
    let input = View2::new(input, [rows, columns]);
    let [left, top] = output.tile_start();
    tile.part().each(|[y, x], own| {
        let (row, column) = (top + y, left + x);
        // The additional column is never read.
        if x < TILE {
            *own = input.get([row, column]).copied().unwrap_or(0.0);
        }
    });
    let tile = tile.sync();
    output.each(|place, output| {
        let [x, y] = place.in_tile;
        *output = tile[y][x];
    });
}
