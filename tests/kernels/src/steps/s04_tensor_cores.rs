//! Step 4: tensor cores by `mma.sync`. Each of four warps computes 64 by 64 elements, in fragments, from two stages of shared
//! memory, of which `cp.async` fills one while the warps multiply the other.

use cuda_std::half::f16;
use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments, WarpPart};
use cuda_std::prelude::*;
use cuda_std::vector::Vector8;
use cuda_std::view::View2;

// ANCHOR: kernel
/// Rows and columns of the product that a block computes.
pub const TILE: usize = 128;
/// Rows and columns of it that a warp computes.
const PART: usize = 64;
/// Columns of `a` and `b` in a stage.
const DEPTH: usize = 32;
/// Numbers that `cp.async` copies at once.
const WIDTH: usize = 8;

/// Rows of vectors, with a vector of padding for `ldmatrix`.
type Numbers = Tile2<Vector8<f16>, TILE, { DEPTH / WIDTH }, 1>;

/// c = a bᵀ, by four warps. `inner` is a multiple of 8.
#[kernel(block = (DEPTH / WIDTH, 32))]
pub fn tensor_cores(
    a: &[Vector8<f16>],
    b: &[Vector8<f16>],
    inner: u32,
    mut c: Disjoint<f32, Fragments<TILE, TILE, WarpPart<PART, PART>>>,
    stages: Pipeline<(Numbers, Numbers)>,
) {
    let ([top, left], inner) = (c.tile_start(), inner as usize);
    let (a, b) = (View2::new(a, [c.rows(), inner / WIDTH]), View2::new(b, [c.columns(), inner / WIDTH]));
    let from_a = |start: usize| move |[row, k]: [usize; 2]| a.get([top + row, start / WIDTH + k]);
    let from_b = |start: usize| move |[row, k]: [usize; 2]| b.get([left + row, start / WIDTH + k]);

    let mut sums = [[FragmentC::<f16>::zero(); PART / 8]; PART / 16];
    let [row, column] = c.part_start(0);
    let mut stages = stages.start();
    stages.fetch_pair(from_a(0), from_b(0));
    for start in (0..inner).step_by(DEPTH) {
        stages.advance();
        stages.fetch_pair(from_a(start + DEPTH), from_b(start + DEPTH));
        let (a_tile, b_tile) = stages.front();
        for k in (0..DEPTH).step_by(16) {
            let a = FragmentA::column_from_rows(a_tile, row, k);
            let b = FragmentB::row_from_columns(b_tile, column, k);
            FragmentC::multiply_add_all(&mut sums, &a, &b);
        }
    }
    c.store_all(0, &sums);
}
// ANCHOR_END: kernel
