//! Step 3: each thread computes 8 by 8 elements, so that a number which it reads from shared memory serves eight products.

use core::array::from_fn;

use cuda_std::half::f16;
use cuda_std::prelude::*;

// ANCHOR: kernel
/// Rows and columns of the product that a block computes.
pub const TILE: usize = 128;
/// Threads of a block in each direction, and columns of `a` and `b` in a tile.
pub const THREADS: usize = 16;
/// Rows and columns that a thread computes: every sixteenth of the tile.
const OWN: usize = TILE / THREADS;

type Numbers = Tile2<f32, TILE, THREADS, 1>;

/// c = a bᵀ, 64 elements for each thread.
#[kernel(block = (THREADS, THREADS), min_blocks = 2)]
pub fn registers(
    a: &[f16],
    b: &[f16],
    inner: u32,
    mut c: Disjoint<f32, Tiles<TILE, TILE>>,
    mut tiles: Shared<(Numbers, Numbers)>,
) {
    let ([top, left], inner) = (c.tile_start(), inner as usize);
    let (y, x) = (thread::thread_idx_y() as usize, thread::thread_idx_x() as usize);
    // The rows that belong to the tile; beyond the ends of rows and of the matrix are zeros.
    let (a, b) = (&a[top * inner..], &b[left * inner..]);
    let number = |rows: &[f16], row: usize, k: usize| match rows.get(row * inner + k) {
        Some(number) if k < inner => number.to_f32(),
        _ => 0.0,
    };
    let mut sums = [[0.0_f32; OWN]; OWN];
    for start in (0..inner).step_by(THREADS) {
        let (mut a_part, mut b_part) = tiles.part();
        a_part.each(|[row, k], own| *own = number(a, row, start + k));
        b_part.each(|[row, k], own| *own = number(b, row, start + k));
        let loaded = tiles.sync();
        let (a_tile, b_tile) = loaded.get();
        for k in 0..THREADS {
            // 16 reads for 64 products.
            let a: [f32; OWN] = from_fn(|i| a_tile[y + THREADS * i][k]);
            let b: [f32; OWN] = from_fn(|j| b_tile[x + THREADS * j][k]);
            for (sums, a) in sums.iter_mut().zip(a) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += a * b;
                }
            }
        }
        tiles = loaded.sync();
    }
    c.each(|at, c| *c = sums[at.step[0]][at.step[1]]);
}
// ANCHOR_END: kernel
