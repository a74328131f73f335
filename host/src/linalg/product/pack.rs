//! Operands copied into work memory, where neighbouring terms of a sum are neighbours and all else lies 16 bytes apart.

use crate::array::ArrayView;
use crate::array::layout::Layout;
use crate::base::error::{Error, Result};
use crate::launch::config::LaunchConfig;
use crate::launch::library::{Launch, Library, Work};
use bytemuck::Pod;
use rumba_linalg::product::pack::{self, TILE};

/// Whether terms, along the last axis, lie one after the other, and all else multiples of 16 bytes apart.
pub(super) fn in_vectors<T: Pod>(view: &ArrayView<'_, T, 3>) -> bool {
    let (shape, strides) = (view.shape(), view.strides());
    let apart = |axis: usize| shape[axis] <= 1 || (strides[axis] * size_of::<T>() as isize) % 16 == 0;
    (shape[2] <= 1 || strides[2] == 1) && apart(0) && apart(1) && view.place().1.is_multiple_of(16)
}

/// An operand in work memory.
pub(super) struct Packed<'l> {
    work: Work<'l>,
    layout: Layout<3>,
}

impl Packed<'_> {
    pub(super) fn view<T: Pod>(&mut self) -> ArrayView<'_, T, 3> {
        ArrayView::new(self.work.slice().into_view().cast::<T>(), self.layout)
    }
}

/// Copies the lines of an operand, `[batch, lines, terms]`, of elements of 1, 2, 4 or 8 bytes. A matrix that serves for all is copied once.
pub(super) fn pack<'l, T: Pod>(
    library: &'l Library,
    view: &ArrayView<'_, T, 3>,
    launch: &mut Launch<'_>,
) -> Result<Packed<'l>> {
    let ([batch, lines, terms], [apart, down, across]) = (view.shape(), view.strides());
    let matrices = if apart == 0 { batch.min(1) } else { batch };
    let (rows, columns) = (lines.next_multiple_of(TILE), terms.next_multiple_of(16 / size_of::<T>()));
    let elements = matrices.checked_mul(rows).and_then(|rows| rows.checked_mul(columns));
    let bytes = elements.and_then(|elements| elements.checked_mul(size_of::<T>()));
    let too_large = || Error::TooLarge { length: view.len(), size: size_of::<T>() };
    let mut work = library.work(bytes.ok_or_else(too_large)?.div_ceil(4))?;
    let layout = Layout {
        offset: 0,
        shape: [batch, lines, terms],
        strides: [if apart == 0 { 0 } else { (rows * columns) as isize }, columns as isize, 1],
    };
    if terms > 0 {
        let from = view.slice((..matrices, .., ..));
        let by_columns = u32::from(down.unsigned_abs() < across.unsigned_abs());
        let shape = [matrices * rows, columns];
        let to = work.slice();
        let call = match size_of::<T>() {
            1 => pack::pack::<u8>(
                from.cast::<u8>(),
                rows as u32,
                by_columns,
                (to.cast::<u8>().slice_mut(..shape[0] * columns), shape),
            ),
            2 => pack::pack::<u16>(
                from.cast::<u16>(),
                rows as u32,
                by_columns,
                (to.cast::<u16>().slice_mut(..shape[0] * columns), shape),
            ),
            4 => pack::pack::<u32>(
                from.cast::<u32>(),
                rows as u32,
                by_columns,
                (to.cast::<u32>().slice_mut(..shape[0] * columns), shape),
            ),
            _ => pack::pack::<u64>(
                from.cast::<u64>(),
                rows as u32,
                by_columns,
                (to.cast::<u64>().slice_mut(..shape[0] * columns), shape),
            ),
        };
        let tiles = |length: usize| u32::try_from(length.div_ceil(TILE)).unwrap_or(u32::MAX);
        launch(library, LaunchConfig::grid((tiles(columns), tiles(shape[0]))), call)?;
    }
    Ok(Packed { work, layout })
}
