//! Matrix multiplication, twice: from global memory, and by way of tiles in shared memory.
//!
//! Each thread computes one element of the product. In the naive kernel it reads a whole row and a
//! whole column from global memory, so every element of the inputs is read as many times as the
//! product has columns or rows. The tiled kernel reads a block's part of both inputs into shared
//! memory once, and then every thread of the block reads it there: [`TILE`] times less from global
//! memory.

use cuda_std::prelude::*;
use cuda_std::view::View2;

/// Rows and columns of a tile, and of the blocks of [`matmul_tiled`].
pub const TILE: usize = 16;

/// `c = a b`, with one thread for each element of `c`.
///
/// `a` has as many rows as `c` and `inner` columns, `b` has `inner` rows and as many columns as `c`,
/// all in row-major order. Launch it in two dimensions: x for columns, y for rows.
#[kernel]
pub fn matmul(a: &[f32], b: &[f32], inner: u32, mut c: Disjoint<f32, PerThread<2>>) {
    let i = grid::<2>();
    let (inner, columns) = (inner as usize, c.columns());
    if let Some(c) = c.get_mut(i) {
        // Checked once here, so the loop has nothing to check.
        let row = &a[i.y() * inner..][..inner];
        let mut sum = 0.0;
        for (a, b) in row.iter().zip(b.chunks_exact(columns)) {
            sum += a * b[i.x()];
        }
        *c = sum;
    }
}

/// [`matmul`] through shared memory. Launch it in blocks of [`TILE`] by [`TILE`] threads.
///
/// Step by step along `inner`, each thread of a block brings one element of `a` and one of `b`.
/// After the barrier all of them multiply a row of one tile by a column of the other; after the next
/// barrier the tiles are free again. Every thread takes part in every step, also those whose element
/// is beyond the edge of `c`: a barrier waits for the whole block.
#[kernel(block = (TILE, TILE))]
pub fn matmul_tiled(
    a: &[f32],
    b: &[f32],
    inner: u32,
    mut c: Disjoint<f32, PerThread<2>>,
    mut tiles: Shared<(Tile2<f32, TILE, TILE>, Tile2<f32, TILE, TILE>)>,
) {
    let i = grid::<2>();
    let (row, column) = (i.y(), i.x());
    let (y, x) = (thread::thread_idx_y() as usize, thread::thread_idx_x() as usize);
    let inner = inner as usize;
    // Checked once here; outside of the matrices there are zeros.
    let (a, b) = (View2::new(a, [c.rows(), inner]), View2::new(b, [inner, c.columns()]));
    let mut sum = 0.0;
    for start in (0..inner).step_by(TILE) {
        let (a_own, b_own) = tiles.own();
        *a_own = a.get([row, start + x]).copied().unwrap_or(0.0);
        *b_own = b.get([start + y, column]).copied().unwrap_or(0.0);
        let loaded = tiles.sync();
        let (a_tile, b_tile) = loaded.get();
        for k in 0..TILE {
            sum += a_tile[y][k] * b_tile[k][x];
        }
        tiles = loaded.sync();
    }
    if let Some(c) = c.get_mut(i) {
        *c = sum;
    }
}
