//! Copies of operands into the order that fast kernels read.

use bytemuck::Pod;
use cuda_std::Element;
use cuda_std::prelude::*;

/// Rows and columns of a tile.
pub const TILE: usize = 32;

/// The matrices of `x` one after the other in row-major order. Each has as many rows as said in `y`, a multiple of [`TILE`], and
/// what it does not have itself is zero. `by_columns`: neighbouring threads read neighbouring rows of `x`, not columns.
#[kernel(block = (TILE, 8), T = [u8, u16, u32, u64])]
pub fn pack<T: Pod + Element>(
    x: View<T, 3>,
    rows: u32,
    by_columns: u32,
    mut y: Disjoint<T, Tiles<TILE, TILE>>,
    mut tile: Shared<Tile2<T, TILE, TILE, 1>>,
) {
    let [top, left] = y.tile_start();
    let (matrix, top) = (top / rows.max(1) as usize, top % rows.max(1) as usize);
    let element = |row: usize, column: usize| x.get([matrix, top + row, left + column]).copied().unwrap_or(T::zeroed());
    if by_columns == 0 {
        y.each(|at, y| *y = element(at.in_tile[0], at.in_tile[1]));
        return;
    }
    tile.part().each(|[i, j], own| *own = element(j, i));
    let tile = tile.sync();
    y.each(|at, y| *y = tile[at.in_tile[1]][at.in_tile[0]]);
}
