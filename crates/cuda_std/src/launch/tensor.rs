//! Matrices as arguments for tensor maps, and what kernels with tensor pipelines take besides.

use std::vec;

use bytemuck::Pod;

use super::argument::{Argument, Workspace, Written};
use super::{Arguments, Borrowed, ViewError};
use crate::abi::parameter::KernelParameter;
use crate::collective::product::{ProductStages, TiledMma};
use crate::collective::tensor::{
    Extent, Image, MatrixOutput, Stage, Swizzled, TensorExchange, TensorMap, TensorOutput, TensorPipeline,
    TensorStaging, TensorTiling, Tile,
};

/// How matrices lie in memory: `batches` of them, each `batch_stride` elements behind the one before, with rows that are
/// `row_stride` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorShape {
    /// How many matrices.
    pub batches: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
    /// Elements from one row to the next. A multiple of 16 bytes.
    pub row_stride: usize,
    /// Elements from one matrix to the next. A multiple of 16 bytes, and not used where there is one only.
    pub batch_stride: usize,
}

impl TensorShape {
    /// How many elements there are from the first to the last, or `None` if more than can be counted.
    fn extent(&self) -> Option<usize> {
        if self.batches == 0 || self.rows == 0 {
            return Some(0);
        }
        let rows = (self.rows - 1).checked_mul(self.row_stride)?;
        let batches = (self.batches - 1).checked_mul(self.batch_stride)?;
        batches.checked_add(rows)?.checked_add(self.columns)
    }

    /// Whether rows or matrices begin before those ahead of them end. Not empty ones, whose extent can be counted.
    fn overlaps(&self) -> bool {
        let matrix = (self.rows - 1) * self.row_stride + self.columns;
        self.rows > 1 && self.row_stride < self.columns || self.batches > 1 && self.batch_stride < matrix
    }
}

/// A matrix without gaps.
impl From<[usize; 2]> for TensorShape {
    fn from([rows, columns]: [usize; 2]) -> Self {
        Self::from([1, rows, columns])
    }
}

/// Several matrices, one behind the other, without gaps.
impl From<[usize; 3]> for TensorShape {
    fn from([batches, rows, columns]: [usize; 3]) -> Self {
        Self { batches, rows, columns, row_stride: columns, batch_stride: rows.saturating_mul(columns) }
    }
}

/// Device memory with elements of type `T` that a tensor map can be made of.
///
/// # Safety
///
/// [`place`](Self::place) is valid on the device and not written for `'a`. `encode` gives what the device takes for a matrix
/// that lies there as said.
#[diagnostic::on_unimplemented(
    message = "no tensor map of elements `{T}` can be made of `{Self}`",
    label = "no device memory of elements `{T}`",
    note = "write `(&buffer, [rows, columns])` with a buffer on the device: host memory has no address there before the launch"
)]
pub unsafe trait TensorMemory<'a, T>: Sized {
    /// The memory, and how many elements it has.
    fn place(self) -> (Borrowed<'a>, usize);

    /// A tensor map of matrices that lie like this from an address on: of columns, rows and batches.
    ///
    /// # Errors
    ///
    /// The driver's result, if it makes none.
    fn encode(address: u64, shape: TensorShape, tiling: TensorTiling) -> Result<Image, u32>;
}

/// Memory that a kernel may write.
///
/// # Safety
///
/// As for [`TensorMemory`]; the memory is borrowed mutably for `'a`.
#[diagnostic::on_unimplemented(
    message = "no output in tiles of elements `{T}` can be made of `{Self}`",
    label = "no mutable device memory of elements `{T}`",
    note = "write `(&mut buffer, [rows, columns])` with a buffer on the device"
)]
pub unsafe trait TensorMemoryMut<'a, T>: Sized {
    /// As [`TensorMemory::place`].
    fn place(self) -> (Borrowed<'a>, usize);

    /// As [`TensorMemory::encode`].
    ///
    /// # Errors
    ///
    /// As there.
    fn encode(address: u64, shape: TensorShape, tiling: TensorTiling) -> Result<Image, u32>;
}

/// The reason why a matrix cannot be bound: its memory is smaller than its shape, or empty, or a written matrix has an
/// element twice.
fn unfit(elements: usize, shape: TensorShape, writes: bool) -> Option<ViewError> {
    let TensorShape { batches, rows, columns, .. } = shape;
    let lengths = if batches == 1 { vec![rows, columns] } else { vec![batches, rows, columns] };
    let whole = shape == TensorShape::from([batches, rows, columns]);
    if shape.extent().is_none_or(|extent| extent > elements || whole && extent < elements) {
        Some(ViewError::Elements { elements, shape: lengths })
    } else if batches.max(rows).max(columns).max(shape.row_stride) > i32::MAX as usize {
        Some(ViewError::TooLong { strides: vec![shape.row_stride as isize, 1], shape: lengths })
    } else if batches == 0 || rows == 0 || columns == 0 {
        Some(ViewError::TensorEmpty { shape: lengths })
    } else if writes && shape.overlaps() {
        Some(ViewError::TensorOverlap {
            shape: vec![batches, rows, columns],
            row_stride: shape.row_stride,
            batch_stride: shape.batch_stride,
        })
    } else {
        None
    }
}

/// Binds a tensor map, and rows, columns and batches.
fn bind<'a>(
    (memory, elements): (Borrowed<'a>, usize),
    shape: TensorShape,
    tiling: TensorTiling,
    encode: fn(u64, TensorShape, TensorTiling) -> Result<Image, u32>,
    arguments: &mut Arguments<'a>,
) {
    let bytes = |stride: usize| stride.saturating_mul(tiling.element_bytes as usize);
    let (row_bytes, batch_bytes) = (bytes(shape.row_stride), bytes(shape.batch_stride));
    let apart = |bytes: usize, number: usize| number == 1 || bytes.is_multiple_of(16);
    let made = if let Some(problem) = unfit(elements, shape, memory.writes) {
        Err(problem)
    } else if !apart(row_bytes, shape.rows) || !apart(batch_bytes, shape.batches) || !memory.address.is_multiple_of(16)
    {
        let row_bytes = if apart(row_bytes, shape.rows) { batch_bytes } else { row_bytes };
        Err(ViewError::TensorRows { row_bytes, address: memory.address })
    } else {
        // The stride of a dimension of length 1 is never used, but has to be valid.
        let stride = |stride: usize, number: usize, least: usize| {
            if number == 1 { least.next_multiple_of(16) } else { stride }
        };
        let row_stride = stride(shape.row_stride, shape.rows, shape.columns);
        let encoded = TensorShape {
            row_stride,
            batch_stride: stride(shape.batch_stride, shape.batches, shape.rows.saturating_mul(row_stride)),
            ..shape
        };
        encode(memory.address, encoded, tiling).map_err(|code| ViewError::TensorRefused {
            shape: vec![shape.rows, shape.columns],
            tile: tiling.tile.map(|length| length as usize).into(),
            code,
        })
    };
    let image = made.unwrap_or_else(|problem| {
        arguments.refuse(problem);
        Image::default()
    });
    arguments.push_copy(image);
    // Longer ones are refused.
    for length in [shape.rows, shape.columns, shape.batches] {
        arguments.push_part(&(length as u32).to_ne_bytes());
    }
    if memory.writes {
        arguments.borrow(memory);
    } else {
        arguments.borrow_settling(memory, shape.batches as u32);
    }
}

// SAFETY: a tensor map by value, and rows, columns and batches; the memory is not written.
unsafe impl<'a, T, M, S, const ROWS: usize, const COLUMNS: usize>
    Argument<'a, TensorMap<'_, Swizzled<T, ROWS, COLUMNS>>> for (M, S)
where
    T: Pod,
    Swizzled<T, ROWS, COLUMNS>: Tile<Element = T>,
    M: TensorMemory<'a, T>,
    S: Into<TensorShape>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let tiling = TensorTiling::of::<Swizzled<T, ROWS, COLUMNS>>();
        bind(self.0.place(), self.1.into(), tiling, M::encode, arguments);
    }
}

// SAFETY: the same; the memory is borrowed mutably.
unsafe impl<'a, T, O, M, S, const ROWS: usize, const COLUMNS: usize>
    Argument<'a, TensorOutput<'_, Swizzled<T, ROWS, COLUMNS>, O>> for (M, S)
where
    T: Pod,
    Swizzled<T, ROWS, COLUMNS>: Tile<Element = T>,
    M: TensorMemoryMut<'a, T>,
    S: Into<TensorShape>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let tiling = TensorTiling::of::<Swizzled<T, ROWS, COLUMNS>>();
        bind(self.0.place(), self.1.into(), tiling, M::encode, arguments);
    }
}

// SAFETY: address and extent of memory that is borrowed mutably.
unsafe impl<'a, T, O, M, S> Argument<'a, MatrixOutput<'_, T, O>> for (M, S)
where
    T: Pod,
    M: TensorMemoryMut<'a, T>,
    S: Into<TensorShape>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let ((memory, elements), shape) = (self.0.place(), self.1.into());
        if let Some(problem) = unfit(elements, shape, true) {
            arguments.refuse(problem);
        }
        arguments.push_pointer(memory.address);
        // Longer ones are refused.
        arguments.push_part(bytemuck::bytes_of(&Extent {
            rows: shape.rows as u32,
            columns: shape.columns as u32,
            batches: shape.batches as u32,
            row_stride: shape.row_stride as u32,
            batch_stride: shape.batch_stride as u64,
        }));
        arguments.borrow(memory);
    }
}

/// Binds dynamic shared memory of a size that the parameter's type tells.
pub(super) fn bind_shared<P: KernelParameter>(arguments: &mut Arguments<'_>) {
    arguments.push_shared(size_of::<P::Element>(), align_of::<P::Element>(), 1);
}

// SAFETY: place and length in the dynamic shared memory.
unsafe impl<S: Stage, const STAGES: usize, const GROUPS: u32, const CLUSTER: u32>
    Argument<'_, TensorPipeline<'_, S, STAGES, GROUPS, CLUSTER>> for Workspace
{
    fn bind(self, arguments: &mut Arguments<'_>) {
        bind_shared::<TensorPipeline<'static, S, STAGES, GROUPS, CLUSTER>>(arguments);
    }
}

// SAFETY: place and length in the dynamic shared memory.
unsafe impl<T: Tile, const GROUPS: u32> Argument<'_, TensorStaging<'_, T, GROUPS>> for Workspace
where
    TensorStaging<'static, T, GROUPS>: KernelParameter,
{
    fn bind(self, arguments: &mut Arguments<'_>) {
        bind_shared::<TensorStaging<'static, T, GROUPS>>(arguments);
    }
}

// SAFETY: place and length in the dynamic shared memory.
unsafe impl<W: TiledMma + 'static> Argument<'_, ProductStages<'_, W>> for Workspace {
    fn bind(self, arguments: &mut Arguments<'_>) {
        bind_shared::<ProductStages<'static, W>>(arguments);
    }
}

// SAFETY: place and length in the dynamic shared memory.
unsafe impl<const ROWS: usize, const COLUMNS: usize, const SLICES: u32>
    Argument<'_, TensorExchange<'_, ROWS, COLUMNS, SLICES>> for Workspace
{
    fn bind(self, arguments: &mut Arguments<'_>) {
        bind_shared::<TensorExchange<'static, ROWS, COLUMNS, SLICES>>(arguments);
    }
}

// SAFETY: as for the parameter itself.
unsafe impl<'a, T: Pod, O: 'static, A: Argument<'a, MatrixOutput<'static, T, O>>>
    Argument<'a, Written<for<'l> fn(MatrixOutput<'l, T, O>)>> for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        Argument::<'a, MatrixOutput<'static, T, O>>::bind(self, arguments);
    }
}

// SAFETY: as for the parameter itself.
unsafe impl<'a, T: Tile, A: Argument<'a, TensorMap<'static, T>>> Argument<'a, Written<for<'l> fn(TensorMap<'l, T>)>>
    for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        Argument::<'a, TensorMap<'static, T>>::bind(self, arguments);
    }
}

// SAFETY: as for the parameter itself.
unsafe impl<'a, T: Tile, O: 'static, A: Argument<'a, TensorOutput<'static, T, O>>>
    Argument<'a, Written<for<'l> fn(TensorOutput<'l, T, O>)>> for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        Argument::<'a, TensorOutput<'static, T, O>>::bind(self, arguments);
    }
}
