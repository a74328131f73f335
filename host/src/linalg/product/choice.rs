//! Which kernel computes a product.

use super::Precision;
use super::types::{Multiply, Operands};
use crate::array::ArrayView;
use crate::base::error::{Error, Result};
use crate::launch::config::LaunchConfig;
use crate::linalg::Linalg;
use bytemuck::Pod;
use rumba_linalg::product::thread;

/// A way to compute a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Way {
    /// By threads that read the operands where they lie.
    Elements,
    /// By threads and shared memory.
    Threads,
    /// By warps and shared memory.
    Warps,
    /// The same with numbers of TensorFloat-32.
    Tf32Warps,
}

/// The sizes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    batch: usize,
    rows: usize,
    columns: usize,
    terms: usize,
}

impl Problem {
    pub(super) fn new([batch, rows, columns, terms]: [usize; 4]) -> Problem {
        Problem {
            batch,
            rows,
            columns,
            terms,
        }
    }

    /// How many tiles of so many rows and columns there are.
    pub(super) fn tiles(&self, side: usize) -> Result<u32> {
        let tiles = self
            .rows
            .div_ceil(side)
            .saturating_mul(self.columns.div_ceil(side))
            .saturating_mul(self.batch);
        u32::try_from(tiles)
            .ok()
            .filter(|tiles| *tiles <= i32::MAX as u32)
            .ok_or(Error::TooManyElements {
                operation: "compute a product of",
                length: self.rows.saturating_mul(self.columns).saturating_mul(self.batch),
                limit: (i32::MAX as usize).saturating_mul(side * side),
            })
    }
}

impl Way {
    /// Rows and columns of a tile.
    fn side(self) -> usize {
        match self {
            Way::Elements => thread::SMALL_TILE,
            Way::Threads | Way::Warps | Way::Tf32Warps => thread::TILE,
        }
    }

    /// Whether operands lie as the kernel needs them.
    fn takes<T: Multiply<U>, U: Pod>(self, operands: &Operands<'_, T, U>) -> bool {
        let (a, b) = (&operands.a, &operands.b.permute([0, 2, 1]));
        self != Way::Warps || size_of::<T>() > 2 || (in_vectors(a) && in_vectors(b))
    }
}

/// Whether terms lie one after the other, and all else 16 bytes apart.
fn in_vectors<T: Pod>(view: &ArrayView<'_, T, 3>) -> bool {
    let (shape, strides) = (view.shape(), view.strides());
    let apart = |axis: usize| shape[axis] == 1 || (strides[axis] * size_of::<T>() as isize) % 16 == 0;
    (shape[2] == 1 || strides[2] == 1) && apart(0) && apart(1) && view.place().1.is_multiple_of(16)
}

/// Computes a product.
pub(super) fn run<T: Multiply<U>, U: Pod>(
    linalg: &Linalg,
    operands: Operands<'_, T, U>,
    problem: &Problem,
    precision: Precision,
) -> Result<()> {
    let is_allowed = |way: &Way| match way {
        Way::Tf32Warps => precision == Precision::Tf32,
        _ => way.takes(&operands),
    };
    let small = problem.rows.min(problem.columns) < 32 || problem.terms < 8;
    let way = T::WAYS
        .iter()
        .copied()
        .filter(is_allowed)
        .find(|way| !small || *way == Way::Elements);
    let way = way.unwrap_or(Way::Elements);
    let blocks = problem.tiles(way.side())?;
    linalg
        .library
        .launch(None, LaunchConfig::grid(blocks), T::call(way, operands))
}
