//! Step 2: a block reads a tile of each matrix into shared memory, coalesced, and its threads multiply them there.

// ANCHOR: kernel
use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::view::View2;

/// Rows and columns of a tile, and of the block.
pub const TILE: usize = 32;
/// A tile as `f32`, with a column of padding: a warp reads down a column without meeting a bank twice.
type Numbers = Tile2<f32, TILE, TILE, 1>;

/// c = a bᵀ, a tile for each block.
#[kernel(block = (TILE, TILE))]
pub fn tiled(
    a: &[f16],
    b: &[f16],
    inner: u32,
    mut c: Disjoint<f32, PerThread<2>>,
    mut tiles: Shared<(Numbers, Numbers)>,
) {
    let (i, inner) = (grid::<2>(), inner as usize);
    let (y, x) = (thread::thread_idx_y() as usize, thread::thread_idx_x() as usize);
    let (a, b) = (View2::new(a, [c.rows(), inner]), View2::new(b, [c.columns(), inner]));
    // The first row of the block's tile of b: that of the thread at y = 0.
    let left = i.x() - x;
    let mut sum = 0.0;
    for start in (0..inner).step_by(TILE) {
        let (a_own, b_own) = tiles.own();
        *a_own = a.get([i.y(), start + x]).map_or(0.0, |a| a.to_f32());
        *b_own = b.get([left + y, start + x]).map_or(0.0, |b| b.to_f32());
        let loaded = tiles.sync();
        let (a_tile, b_tile) = loaded.get();
        for k in 0..TILE {
            sum += a_tile[y][k] * b_tile[x][k];
        }
        tiles = loaded.sync();
    }
    if let Some(c) = c.get_mut(i) {
        *c = sum;
    }
}
// ANCHOR_END: kernel
