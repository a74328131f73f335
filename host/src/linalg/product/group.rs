//! Operands of kernels by warp groups: matrices in row-major order, as tensor maps take them.

use super::pack::in_vectors;
use super::types::{Multiply, Operands};
use crate::array::ArrayView;
use crate::array::layout::Layout;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use bytemuck::Pod;
use cuda_std::launch::TensorShape;
use rumba_linalg::product::Activation;

/// The arguments of a kernel.
pub(super) struct Tensors<'c, T: Multiply<U>, U: Pod> {
    pub(super) a: (DeviceSlice<'c, T>, TensorShape),
    pub(super) b: (DeviceSlice<'c, T>, TensorShape),
    pub(super) c: (DeviceSliceMut<'c, U>, TensorShape),
    /// Whether `a` and `b` lie transposed.
    pub(super) transposed: [bool; 2],
    pub(super) bias: ArrayView<'c, U, 3>,
    pub(super) residual: ArrayView<'c, U, 3>,
    pub(super) alpha: T::Sum,
    pub(super) beta: T::Sum,
    pub(super) activation: Activation,
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
    /// The tensors of operands that can be tensor maps according to [`order`], and of an output in row-major order.
    pub(super) fn new(operands: Operands<'c, T, U>) -> Self {
        let Operands { a, b, bias, residual, alpha, beta, activation, c } = operands;
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
            bias,
            residual,
            alpha,
            beta,
            activation,
        }
    }
}

/// The memory from the first to the last element, and the layout of the matrices. A broadcast matrix counts once.
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
        batch_stride: stride(apart, batches, (rows * row_stride).next_multiple_of(16 / size_of::<T>())),
    };
    let length =
        if view.is_empty() { 0 } else { (batches - 1) * shape.batch_stride + (rows - 1) * row_stride + columns };
    let start = view.layout().offset;
    (view.memory().slice(start..start + length), shape)
}

/// Whether the sums are all that is written, or those of 8 bits scaled: most kernels by warp groups do nothing else with them.
pub(super) fn is_plain<T: Multiply<U>, U: Pod>(operands: &Operands<'_, T, U>) -> bool {
    (operands.alpha == T::ONE || size_of::<T>() == 1)
        && operands.beta == T::ZERO
        && operands.activation == Activation::Identity
        && operands.bias.is_empty()
        && operands.residual.is_empty()
}

/// An array of numbers with 16 bits, two by two: if neighbours lie so at multiples of four bytes.
pub(super) fn pairs<'c, U: Pod>(view: &ArrayView<'c, U, 3>) -> Option<ArrayView<'c, u32, 3>> {
    if view.is_empty() {
        return Some(super::matrices::nothing(view));
    }
    let (shape, strides) = (view.shape(), view.strides());
    let apart = |axis: usize| shape[axis] == 1 || strides[axis] >= 0 && strides[axis] % 2 == 0;
    let fits = size_of::<U>() == 2
        && shape[2].is_multiple_of(2)
        && strides[2] == 1
        && view.place().1.is_multiple_of(4)
        && apart(0)
        && apart(1);
    fits.then(|| {
        let stride = |axis: usize| if shape[axis] == 1 { 0 } else { strides[axis] / 2 };
        let strides = [stride(0), stride(1), 1];
        let shape = [shape[0], shape[1], shape[2] / 2];
        let last: usize = (0..3).map(|axis| (shape[axis] - 1) * strides[axis].unsigned_abs()).sum();
        let start = view.layout().offset;
        let memory = view.memory().slice(start..start + 2 * (last + 1)).cast::<u32>();
        ArrayView::new(memory, Layout { offset: 0, shape, strides })
    })
}

/// The same of an array with a number for each column, as one row.
pub(super) fn row_of_pairs<'c, U: Pod>(view: &ArrayView<'c, U, 3>) -> Option<ArrayView<'c, u32, 1>> {
    let ([batch, rows, _], [apart, down, _]) = (view.shape(), view.strides());
    let is_row = view.is_empty() || (batch == 1 || apart == 0) && (rows == 1 || down == 0);
    let row = |pairs: ArrayView<'c, u32, 3>| {
        let length = if pairs.is_empty() { 0 } else { pairs.shape()[2] };
        ArrayView::new(pairs.memory().slice(..length), Layout::row_major(0, [length]))
    };
    pairs(view).filter(|_| is_row).map(row)
}

/// Whether kernels that have an epilogue between products and tensor copies can compute it.
pub(super) fn is_fusible<T: Multiply<U>, U: Pod>(operands: &Operands<'_, T, U>) -> bool {
    operands.beta == T::ZERO && row_of_pairs(&operands.bias).is_some() && pairs(&operands.residual).is_some()
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

/// The kernel with any epilogue.
macro_rules! stored {
    ($kernel:ident, $ty:ident, $output:ident) => {
        |t: Tensors<'c, $ty, $output>| {
            stored::$kernel::<$ty, $output>(t.a, t.b, t.bias, t.residual, t.alpha, t.beta, t.activation, t.c)
        }
    };
}
pub(super) use stored;

/// The kernel with an epilogue between products and tensor copies, for `b` as it lies and transposed.
macro_rules! fused {
    ($ty:ident, $output:ident, $nn:ident $nt:ident) => {
        |t: Tensors<'c, $ty, $output>| {
            let fits = "`is_fusible` was asked";
            let bias = group::row_of_pairs(&t.bias).expect(fits);
            let residual = group::pairs(&t.residual).expect(fits);
            if t.transposed[1] {
                fused::$nt::<$ty, $output>(t.a, t.b, bias, residual, t.alpha, t.activation, t.c)
            } else {
                fused::$nn::<$ty, $output>(t.a, t.b, bias, residual, t.alpha, t.activation, t.c)
            }
        }
    };
}
pub(super) use fused;
