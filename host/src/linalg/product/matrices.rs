//! Operands and outputs in three dimensions: matrices, rows, columns.

use crate::array::layout::Layout;
use crate::array::{Array, ArrayView, ArrayViewMut};
use bytemuck::Pod;

/// An input of a product: arrays by reference and views, of two or three dimensions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand of a product with elements of type `{T}`",
    note = "operands are `&Array<{T}, 2>`, `&Array<{T}, 3>` and views of them, such as `array.transpose()`"
)]
pub trait Matrices<'a, T> {
    #[doc(hidden)]
    fn matrices(self) -> Batch<'a, T>;
}

/// One or several matrices.
#[doc(hidden)]
pub struct Batch<'a, T> {
    pub(super) view: ArrayView<'a, T, 3>,
    /// The shape of the array.
    pub(super) shape: Vec<usize>,
}

impl<'a, T: Pod, const N: usize> Matrices<'a, T> for ArrayView<'a, T, N> {
    fn matrices(self) -> Batch<'a, T> {
        let shape = self.shape().to_vec();
        let view = ArrayView::new(self.memory(), of_three(self.layout()));
        Batch { view, shape }
    }
}

impl<'a, T: Pod, const N: usize> Matrices<'a, T> for &'a Array<T, N> {
    fn matrices(self) -> Batch<'a, T> {
        self.view().matrices()
    }
}

/// The last three axes; missing axes get length 1.
fn of_three<const N: usize>(layout: &Layout<N>) -> Layout<3> {
    let axis = |axis: usize| (axis + N).checked_sub(3);
    Layout {
        offset: layout.offset,
        shape: [0, 1, 2].map(|i| axis(i).map_or(1, |axis| layout.shape[axis])),
        strides: [0, 1, 2].map(|i| axis(i).map_or(0, |axis| layout.strides[axis])),
    }
}

/// An output of two or three dimensions.
pub(super) fn output<U: Pod, const N: usize>(c: ArrayViewMut<'_, U, N>) -> ArrayViewMut<'_, U, 3> {
    let view = c.into_view();
    // The same elements, each once, of a borrow that is given away.
    ArrayViewMut::new(view.memory(), of_three(view.layout()))
}

/// An array without elements, somewhere on the device of another.
pub(super) fn nothing<'a, T: Pod, U: Pod>(other: &ArrayView<'a, T, 3>) -> ArrayView<'a, U, 3> {
    let none = other.memory().slice(..0).cast::<U>();
    ArrayView::new(none, Layout::row_major(0, [0; 3]))
}
