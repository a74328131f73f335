//! Numbers of rows, beside an accumulator.

use super::accumulator::Accumulator;
use super::pipeline::WARP_GROUP;
use super::width::{Columns, Width};
use crate::collective::warp::{FULL_MASK, Shuffle, WARP_SIZE, shfl_xor_sync};
use crate::device::thread::{index_in_block, lane_id};
use crate::device::warp_group;
use crate::device::wgmma::Sums as _;

/// A number for each row of an accumulator: a thread has those of its two rows, as have the three other threads that have
/// columns of these rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerRow<T>([T; 2]);

impl<T: Copy> PerRow<T> {
    /// The same number for all rows.
    #[inline(always)]
    #[must_use]
    pub fn splat(value: T) -> Self {
        Self([value; 2])
    }

    /// The results of `number` for each row, from 0 to 63.
    #[inline(always)]
    #[must_use]
    pub fn of(mut number: impl FnMut(u32) -> T) -> Self {
        let row = index_in_block() % WARP_GROUP / 32 * 16 + lane_id() / 4;
        Self([number(row), number(row + 8)])
    }

    /// The results of `change` for each number.
    #[inline(always)]
    #[must_use]
    pub fn map<U: Copy>(self, mut change: impl FnMut(T) -> U) -> PerRow<U> {
        PerRow([change(self.0[0]), change(self.0[1])])
    }

    /// The results of `change` for each pair of numbers in the same row.
    #[inline(always)]
    #[must_use]
    pub fn with<U: Copy, V: Copy>(self, other: PerRow<U>, mut change: impl FnMut(T, U) -> V) -> PerRow<V> {
        PerRow([change(self.0[0], other.0[0]), change(self.0[1], other.0[1])])
    }

    /// Folds the numbers of the four threads that have columns of a row: sums of theirs become those of the row. All lanes of a
    /// warp come here together.
    ///
    /// `shfl.sync.bfly.b32`; PTX 6.0, sm_30.
    #[inline(always)]
    #[must_use]
    pub fn across(self, mut fold: impl FnMut(T, T) -> T) -> Self
    where
        T: Shuffle,
    {
        self.map(|value| {
            let value = fold(value, shfl_xor_sync(FULL_MASK, value, 1, WARP_SIZE));
            fold(value, shfl_xor_sync(FULL_MASK, value, 2, WARP_SIZE))
        })
    }
}

impl PerRow<bool> {
    /// Whether it holds for one of the thread's rows.
    #[inline(always)]
    #[must_use]
    pub fn any(self) -> bool {
        self.0[0] || self.0[1]
    }
}

impl<const COLUMNS: usize> Accumulator<COLUMNS>
where
    Columns<COLUMNS>: Width,
{
    /// Replaces each number by what `change` makes of that of its row and of it.
    #[inline(always)]
    pub fn map_rows<T: Copy>(&mut self, rows: PerRow<T>, mut change: impl FnMut(T, f32) -> f32) {
        self.sums.each(|register, value| change(rows.0[register / 2 % 2], value));
    }

    /// Folds the numbers of each row that the thread has; [`PerRow::across`] completes it.
    #[inline(always)]
    #[must_use]
    pub fn fold_rows(&self, start: PerRow<f32>, neutral: f32, mut fold: impl FnMut(f32, f32) -> f32) -> PerRow<f32> {
        // Two chains for each row: the result of one operation is not there when the next begins.
        let mut chains = [start.0[0], neutral, start.0[1], neutral];
        let mut sums = self.sums;
        sums.each(|register, value| {
            chains[register % 4] = fold(chains[register % 4], value);
            value
        });
        let result = [fold(chains[0], chains[1]), fold(chains[2], chains[3])];
        PerRow(result.map(|value| f32::from_bits(warp_group::pin(value.to_bits()))))
    }

    /// Replaces the numbers of each row from the column on that `ends` says for it.
    #[inline(always)]
    pub fn truncate_rows(&mut self, ends: PerRow<i32>, value: f32) {
        let own = (lane_id() % 4 * 2) as i32;
        let ends = ends.map(|end| end - own);
        self.sums.each(|register, old| {
            let column = (register / 4 * 8 + register % 2) as i32;
            if column < ends.0[register / 2 % 2] { old } else { value }
        });
    }
}
