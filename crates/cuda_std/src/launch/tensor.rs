//! Matrices as arguments for tensor maps, and what kernels with tensor pipelines take besides.

use std::vec;

use bytemuck::Pod;

use super::argument::{Argument, Workspace, Written};
use super::{Arguments, Borrowed, ViewError};
use crate::abi::parameter::KernelParameter;
use crate::collective::product::{ProductStages, Way};
use crate::collective::tensor::{
    Image, Stage, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, TensorTiling, Tile,
};

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

    /// A tensor map of a matrix of this many rows and columns at an address, in row-major order.
    ///
    /// # Errors
    ///
    /// The driver's result, if it makes none.
    fn encode(address: u64, matrix: [usize; 2], tiling: TensorTiling) -> Result<Image, u32>;
}

/// The same of memory that a kernel may write.
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
    fn encode(address: u64, matrix: [usize; 2], tiling: TensorTiling) -> Result<Image, u32>;
}

/// Binds a tensor map, and rows and columns.
fn bind<'a>(
    (memory, elements): (Borrowed<'a>, usize),
    [rows, columns]: [usize; 2],
    tiling: TensorTiling,
    encode: fn(u64, [usize; 2], TensorTiling) -> Result<Image, u32>,
    arguments: &mut Arguments<'a>,
) {
    let matrix = vec![rows, columns];
    let row_bytes = columns.saturating_mul(tiling.element_bytes as usize);
    let made = if rows.checked_mul(columns) != Some(elements) {
        Err(ViewError::Elements {
            elements,
            shape: matrix,
        })
    } else if rows.max(columns) > i32::MAX as usize {
        Err(ViewError::TooLong {
            strides: vec![columns as isize, 1],
            shape: matrix,
        })
    } else if elements == 0 {
        Err(ViewError::TensorEmpty { shape: matrix })
    } else if !row_bytes.is_multiple_of(16) || !memory.address.is_multiple_of(16) {
        Err(ViewError::TensorRows {
            row_bytes,
            address: memory.address,
        })
    } else {
        encode(memory.address, [rows, columns], tiling).map_err(|code| ViewError::TensorRefused {
            shape: matrix,
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
    for length in [rows, columns] {
        arguments.push_part(&(length as u32).to_ne_bytes());
    }
    arguments.borrow(memory);
}

// SAFETY: a tensor map by value, and rows and columns; the memory is not written.
unsafe impl<'a, T, M, const ROWS: usize, const COLUMNS: usize> Argument<'a, TensorMap<'_, Swizzled<T, ROWS, COLUMNS>>>
    for (M, [usize; 2])
where
    T: Pod,
    Swizzled<T, ROWS, COLUMNS>: Tile<Element = T>,
    M: TensorMemory<'a, T>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let tiling = TensorTiling::of::<Swizzled<T, ROWS, COLUMNS>>();
        bind(self.0.place(), self.1, tiling, M::encode, arguments);
    }
}

// SAFETY: the same; the memory is borrowed mutably.
unsafe impl<'a, T, M, const ROWS: usize, const COLUMNS: usize>
    Argument<'a, TensorOutput<'_, Swizzled<T, ROWS, COLUMNS>>> for (M, [usize; 2])
where
    T: Pod,
    Swizzled<T, ROWS, COLUMNS>: Tile<Element = T>,
    M: TensorMemoryMut<'a, T>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let tiling = TensorTiling::of::<Swizzled<T, ROWS, COLUMNS>>();
        bind(self.0.place(), self.1, tiling, M::encode, arguments);
    }
}

/// Binds dynamic shared memory of a size that the parameter's type tells.
fn bind_shared<P: KernelParameter>(arguments: &mut Arguments<'_>) {
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
unsafe impl<W: Way + 'static> Argument<'_, ProductStages<'_, W>> for Workspace {
    fn bind(self, arguments: &mut Arguments<'_>) {
        bind_shared::<ProductStages<'static, W>>(arguments);
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
unsafe impl<'a, T: Tile, A: Argument<'a, TensorOutput<'static, T>>>
    Argument<'a, Written<for<'l> fn(TensorOutput<'l, T>)>> for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        Argument::<'a, TensorOutput<'static, T>>::bind(self, arguments);
    }
}
