//! The transpose of a matrix, through a tile of shared memory, so that reading and writing both go along rows.

use bytemuck::Pod;
use cuda_std::prelude::*;
use cuda_std::view::View2;

/// Rows and columns of a tile.
pub const TILE: usize = 64;
/// Threads of a block along x and y.
pub const BLOCK: (u32, u32) = (64, 8);

/// `output[x][y] = input[y][x]`
///
/// Launch it in two dimensions with blocks of [`BLOCK`] threads, one for each tile of the input: x for columns, y for rows.
#[kernel(T = [u32, u64], block = (64, 8))]
pub fn transpose<T: Pod>(
    input: &[T],
    mut output: Disjoint<T, Tiles<TILE, TILE, Transposed>>,
    mut tile: Shared<Tile2<T, TILE, { TILE + 1 }>>,
) {
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
