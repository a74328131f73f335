//! Matrix multiplication by tensor cores: `f16` numbers, summed up as `f32`.
//!
//! A tensor core multiplies small matrices, and it takes a whole warp to feed it: `mma.sync` computes `c += a b` for 16
//! by 16 and 16 by 8 numbers. Each lane has a few numbers of each matrix in its registers: a *fragment*. The hardware
//! assigns the numbers to lanes, and only `cuda_std::mma` knows the assignment; a kernel names a fragment by the row
//! and the column where it starts.
//!
//! The arithmetic is so fast that everything else is about bringing the numbers:
//!
//! * **Tiles.** A block computes [`TILE`] by [`TILE`] elements of the product, so that each number which it reads from global
//!   memory serves [`TILE`] products. For the same reason a warp computes a quarter of that, `PART` by `PART`, and keeps
//!   it in registers: 4 and 8 fragments from shared memory feed 32 multiplications.
//! * **Two stages.** While the warps multiply `DEPTH` columns of `a` by as many rows of `b`, `cp.async` brings the next ones
//!   from global to shared memory, 16 bytes at a time and without a detour through registers.
//! * **Padding.** `ldmatrix` reads a fragment as rows of 16 bytes, eight rows at a time. Shared memory delivers 128 bytes at
//!   once, if no two of them are in the same bank: the same place of 128 bytes. Rows of 64 or 256 bytes would meet in the same
//!   banks; with 16 bytes more each the eight rows cover all banks once.

use cuda_std::half::f16;
use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments, WarpPart};
use cuda_std::prelude::*;
use cuda_std::vector::Vector8;
use cuda_std::view::View2;

/// Rows and columns of the product that a block computes.
pub const TILE: usize = 128;
/// Rows and columns of it that a warp computes.
const PART: usize = 64;
/// Columns of `a` and rows of `b` in one stage.
const DEPTH: usize = 32;
/// Numbers that are copied at once.
const WIDTH: usize = 8;

/// A tile of `a` and one of `b`, in vectors, with a vector of padding behind each row.
type Stage = (Tile2<Vector8<f16>, TILE, { DEPTH / WIDTH }, 1>, Tile2<Vector8<f16>, DEPTH, { TILE / WIDTH }, 1>);

/// `c = a b`, in tiles of [`TILE`] by [`TILE`] elements: x of the grid counts them along the columns, y along the rows.
///
/// `a` has the rows of `c` and `inner` columns, `b` has `inner` rows and the columns of `c`; all sizes are allowed.
/// Both are in row-major order, and each row is padded with zeros to whole vectors, as `cuda_std::vector::padded_rows`
/// does. A block has four warps.
#[kernel(block = (DEPTH / WIDTH, 32))]
pub fn matmul_mma(
    a: &[Vector8<f16>],
    b: &[Vector8<f16>],
    inner: u32,
    mut c: Disjoint<f32, Fragments<TILE, TILE, WarpPart<PART, PART>>>,
    stages: Pipeline<Stage>,
) {
    let (inner, [top, left]) = (inner as usize, c.tile_start());
    // Checked once here; outside of the matrices there are zeros.
    let a = View2::new(a, [c.rows(), inner.div_ceil(WIDTH)]);
    let b = View2::new(b, [inner, c.columns().div_ceil(WIDTH)]);
    let mut stages = stages.start();
    let from_a = |start: usize| move |[row, column]: [usize; 2]| a.get([top + row, start / WIDTH + column]);
    let from_b = |start: usize| move |[row, column]: [usize; 2]| b.get([start + row, left / WIDTH + column]);

    let mut sums = [[FragmentC::<f16>::zero(); PART / 8]; PART / 16];
    let [row, column] = c.part_start(0);
    stages.fetch_pair(from_a(0), from_b(0));
    for start in (0..inner).step_by(DEPTH) {
        stages.advance();
        stages.fetch_pair(from_a(start + DEPTH), from_b(start + DEPTH));
        let (a_tile, b_tile) = stages.front();
        for k in (0..DEPTH).step_by(16) {
            let a = FragmentA::column_from_rows(a_tile, row, k);
            let b = FragmentB::row_from_rows(b_tile, k, column);
            FragmentC::multiply_add_all(&mut sums, &a, &b);
        }
    }
    c.store_all(0, &sums);
}
