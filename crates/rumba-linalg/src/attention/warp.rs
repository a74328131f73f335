//! By warps, with `mma.sync`: compute capability 8.0 and later, heads of any size, arrays of any strides.

use cuda_std::float::approx::{ex2_ftz, rcp};
use cuda_std::half::{bf16, f16};
use cuda_std::mma::{FragmentA, FragmentB, FragmentC, FragmentRows, Multiply};
use cuda_std::prelude::*;

use super::{Keys, NOTHING, SLACK};

/// Rows of a block's part: 16 for each of four warps.
pub const ROWS: usize = 64;
/// Columns of the output that a block computes.
pub const COLUMNS: usize = 128;
/// Keys of a step, and columns of a tile.
const TILE: usize = 64;
/// Columns of a tile in memory: rows that keep off bank conflicts.
const PITCH: usize = TILE + 8;

/// Numbers of 16 bits.
pub trait Number: Multiply<Sum = f32> {
    /// Rounds.
    fn of(value: f32) -> Self;
}

impl Number for f16 {
    #[inline(always)]
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Number for bf16 {
    #[inline(always)]
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

/// Folds a number with those of the three other lanes that have columns of the same rows.
#[inline(always)]
fn across(value: f32, fold: impl Fn(f32, f32) -> f32) -> f32 {
    let value = fold(value, warp::shfl_xor_sync(warp::FULL_MASK, value, 1, 32));
    fold(value, warp::shfl_xor_sync(warp::FULL_MASK, value, 2, 32))
}

/// The softmax of a lane's two rows, whose scores come in blocks.
#[derive(Clone, Copy)]
pub(super) struct Softmax {
    scale: f32,
    /// The exponent of 2 that weights are relative to, for each row.
    base: [f32; 2],
    /// The lane's part of the sum of weights.
    sum: [f32; 2],
}

impl Softmax {
    #[inline(always)]
    pub(super) fn new(scale: f32) -> Self {
        Self { scale, base: [NOTHING; 2], sum: [0.0; 2] }
    }

    /// Replaces scores by their weights, and gives the factors for the sums so far, if they change.
    #[inline(always)]
    pub(super) fn add<T: Number, const N: usize>(&mut self, scores: &mut [FragmentC<T>; N]) -> Option<[f32; 2]> {
        let Self { scale, base, .. } = *self;
        let mut top = [f32::NEG_INFINITY; 2];
        FragmentC::each_of(scores, |_, i, _, score| top[i / 8] = top[i / 8].max(*score));
        let top = top.map(|top| across(top, f32::max) * scale);
        let mut factors = None;
        if warp::any_sync(warp::FULL_MASK, top[0] > base[0] + SLACK || top[1] > base[1] + SLACK) {
            let new = [base[0].max(top[0]), base[1].max(top[1])];
            let factor = [ex2_ftz(base[0] - new[0]), ex2_ftz(base[1] - new[1])];
            self.base = new;
            self.sum = [self.sum[0] * factor[0], self.sum[1] * factor[1]];
            factors = Some(factor);
        }
        let (base, sum) = (self.base, &mut self.sum);
        FragmentC::each_of(scores, |_, i, _, score| {
            *score = ex2_ftz(score.mul_add(scale, -base[i / 8]));
            sum[i / 8] += *score;
        });
        factors
    }

    /// The reciprocals of the sums, and zero for rows that have seen no key.
    #[inline(always)]
    pub(super) fn normalisation(self) -> [f32; 2] {
        self.sum.map(|sum| {
            let sum = across(sum, |a, b| a + b);
            if sum > 0.0 { rcp(sum) } else { 0.0 }
        })
    }
}

/// The elements of a tile of a matrix, from a row and a column on, with zeros beyond the matrix.
#[inline(always)]
fn tile<'a, T: Number>(
    matrix: View<'a, T, 4>,
    [outer, inner]: [usize; 2],
    [row, column]: [usize; 2],
) -> impl Fn([usize; 2]) -> T + 'a {
    move |[i, j]| {
        let number = if j < TILE { matrix.get([outer, inner, row + i, column + j]) } else { None };
        number.copied().unwrap_or_else(T::zeroed)
    }
}

/// `softmax(scale q kᵀ) v`. A block has [`ROWS`] rows, which x of the grid counts through all matrices, and [`COLUMNS`] columns of the
/// output, which y counts: heads that are wider have their scores computed for each.
#[kernel(block = 128, arch = "sm_80", T = [f16, bf16])]
#[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
pub fn attention_by_warps<T: Number>(
    q: View<T, 4>,
    k: View<T, 4>,
    v: View<T, 4>,
    mut o: Disjoint<T, FragmentRows<COLUMNS>>,
    scale: f32,
    visible: i32,
    mut tiles: Shared<(Table2<T, TILE, PITCH>, Table2<T, TILE, PITCH>)>,
) {
    let Some([outer, inner, first, left]) = o.part() else {
        return;
    };
    let [_, _, rows, size] = q.shape();
    let keys = Keys { visible, all: k.shape()[2] as i32 };
    let own = 16 * (thread::index_in_block() / 32) as usize;
    let at = [outer, inner];
    let mut near: [FragmentC<T>; TILE / 8] = FragmentC::zeros();
    let mut far = near;
    let mut softmax = Softmax::new(scale);
    for block in 0..keys.blocks::<TILE>((first + ROWS).min(rows) as u32) as usize {
        let start = block * TILE;
        let mut scores: [FragmentC<T>; TILE / 8] = FragmentC::zeros();
        for column in (0..size).step_by(TILE) {
            let (mut a, mut b) = tiles.part();
            let (left, right) = (tile(q, at, [first, column]), tile(k, at, [start, column]));
            a.each(|place, number| *number = left(place));
            b.each(|place, number| *number = right(place));
            let loaded = tiles.sync();
            let (queries, columns) = loaded.get();
            for step in (0..TILE).step_by(16) {
                let a = FragmentA::from_rows(queries, own, step);
                let b = FragmentB::row_from_columns(columns, 0, step);
                FragmentC::multiply_add_all(core::array::from_mut(&mut scores), &[a], &b);
            }
            tiles = loaded.sync();
        }

        FragmentC::each_of(&mut scores, |number, i, j, score| {
            let key = (start + 8 * number + j) as i32;
            if key >= keys.seen((first + own + i) as u32) {
                *score = f32::NEG_INFINITY;
            }
        });
        if let Some(factor) = softmax.add(&mut scores) {
            FragmentC::each_of(&mut near, |_, i, _, sum| *sum *= factor[i / 8]);
            FragmentC::each_of(&mut far, |_, i, _, sum| *sum *= factor[i / 8]);
        }
        let weights: [FragmentA<T>; TILE / 16] = FragmentA::row_from_sums(&scores, T::of);

        let (mut a, mut b) = tiles.part();
        let (left_half, right_half) = (tile(v, at, [start, left]), tile(v, at, [start, left + TILE]));
        a.each(|place, number| *number = left_half(place));
        b.each(|place, number| *number = right_half(place));
        let loaded = tiles.sync();
        let (left_half, right_half) = loaded.get();
        FragmentC::multiply_add_row(&mut near, &weights, left_half);
        FragmentC::multiply_add_row(&mut far, &weights, right_half);
        tiles = loaded.sync();
    }

    let factor = softmax.normalisation();
    FragmentC::each_of(&mut near, |_, i, _, sum| *sum *= factor[i / 8]);
    FragmentC::each_of(&mut far, |_, i, _, sum| *sum *= factor[i / 8]);
    o.store_row::<T, 0, 8>(&near, T::of);
    o.store_row::<T, TILE, 8>(&far, T::of);
}
