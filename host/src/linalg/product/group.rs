//! Operands of kernels by warp groups: matrices in row-major order, as tensor maps take them.

use super::pack::in_vectors;
use super::types::{Multiply, Operands};
use crate::array::ArrayView;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use bytemuck::Pod;
use cuda_std::launch::TensorShape;
use rumba_linalg::product::Activation;

/// What a kernel takes.
pub(super) struct Tensors<'c, T, U> {
    pub(super) a: (DeviceSlice<'c, T>, TensorShape),
    pub(super) b: (DeviceSlice<'c, T>, TensorShape),
    pub(super) c: (DeviceSliceMut<'c, U>, TensorShape),
    /// Whether `a` and `b` lie transposed.
    pub(super) transposed: [bool; 2],
    pub(super) alpha: f32,
}

/// Whether `a` and `b` can be tensor maps as they lie, and whether they lie transposed.
pub(super) fn order<T: Pod>(a: &ArrayView<'_, T, 3>, b: &ArrayView<'_, T, 3>) -> [Option<bool>; 2] {
    let (a_turned, b_turned) = (a.permute([0, 2, 1]), b.permute([0, 2, 1]));
    // Along the sum first, where both are the same: of one term, or of one row.
    let order = |along: &ArrayView<'_, T, 3>, across: &ArrayView<'_, T, 3>, is_turned: bool| match () {
        () if in_vectors(along) => Some(is_turned),
        () if in_vectors(across) => Some(!is_turned),
        () => None,
    };
    [order(a, &a_turned, false), order(&b_turned, b, true)]
}

impl<'c, T: Multiply<U>, U: Pod> Tensors<'c, T, U> {
    /// Of operands that [`order`] says can be tensor maps, and an output in row-major order.
    pub(super) fn new(operands: Operands<'c, T, U>) -> Self {
        let Operands { a, b, c, alpha, .. } = operands;
        let transposed = order(&a, &b).map(|order| order.unwrap_or(false));
        let turned = |view: ArrayView<'c, T, 3>, turned: bool| if turned { view.permute([0, 2, 1]) } else { view };
        let c = c.into_view();
        let (memory, shape) = matrices(&c);
        Tensors {
            a: matrices(&turned(a, transposed[0])),
            b: matrices(&turned(b, transposed[1])),
            // SAFETY: the view was a mutable one, and is not used any more.
            c: (unsafe { memory.assume_mut() }, shape),
            transposed,
            alpha: bytemuck::bytes_of(&alpha).try_into().map_or(1.0, f32::from_ne_bytes),
        }
    }
}

/// Memory from the first to the last element, and how the matrices lie there. A matrix that serves for all is one.
pub(super) fn matrices<'c, T: Pod>(view: &ArrayView<'c, T, 3>) -> (DeviceSlice<'c, T>, TensorShape) {
    let ([batch, rows, columns], [apart, down, _]) = (view.shape(), view.strides());
    let batches = if apart == 0 { batch.min(1) } else { batch };
    let stride = |stride: isize, count: usize, least: usize| if count <= 1 { least } else { stride.unsigned_abs() };
    let whole = columns.next_multiple_of(16 / size_of::<T>());
    let row_stride = stride(down, rows, whole);
    let shape = TensorShape {
        batches,
        rows,
        columns,
        row_stride,
        batch_stride: stride(
            apart,
            batches,
            (rows * row_stride).next_multiple_of(16 / size_of::<T>()),
        ),
    };
    let length = if view.is_empty() {
        0
    } else {
        (batches - 1) * shape.batch_stride + (rows - 1) * row_stride + columns
    };
    let start = view.layout().offset;
    (view.memory().slice(start..start + length), shape)
}

/// Whether the sums are all that is written: kernels by warp groups do nothing else with them, those of 8 bits but scale them.
pub(super) fn is_plain<T: Multiply<U>, U: Pod>(operands: &Operands<'_, T, U>, scales: bool) -> bool {
    (scales || operands.alpha == T::ONE)
        && operands.beta == T::ZERO
        && operands.activation == Activation::Identity
        && operands.bias.is_empty()
        && operands.residual.is_empty()
}

/// The kernel for the order of its operands.
macro_rules! copied {
    ($ty:ident, $nn:ident $nt:ident $tn:ident $tt:ident) => {
        |t: Tensors<'c, _, _>| match t.transposed {
            [false, false] => warp_group::$nn::<$ty>(t.a, t.b, t.c),
            [false, true] => warp_group::$nt::<$ty>(t.a, t.b, t.c),
            [true, false] => warp_group::$tn::<$ty>(t.a, t.b, t.c),
            [true, true] => warp_group::$tt::<$ty>(t.a, t.b, t.c),
        }
    };
}
pub(super) use copied;
