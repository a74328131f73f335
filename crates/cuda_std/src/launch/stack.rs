//! Arrays with four dimensions as arguments for tensor maps.

use bytemuck::Pod;

use super::argument::{Argument, Workspace, Written};
use super::tensor::bind_shared;
use super::{Arguments, Borrowed, ViewError};
use crate::collective::tensor::{
    Image, Order, ResidentPipeline, RowsInOrder, Stage, Swizzled, TensorMap4, TensorOutput4, TensorTiling, Tile,
};

/// How the elements of an array with four dimensions lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Where the first one is on the device.
    pub address: u64,
    /// How long each axis is.
    pub shape: [usize; 4],
    /// How many elements further the next one of each axis is.
    pub strides: [isize; 4],
}

/// An array on the device, with elements of type `T` in four dimensions, that a tensor map can be made of.
///
/// # Safety
///
/// [`place`](Self::place) is valid on the device, all elements of the array lie in it, and it is not written for `'a`. `encode`
/// gives what the device takes for an array that lies there as said.
#[diagnostic::on_unimplemented(
    message = "no tensor map of elements `{T}` can be made of `{Self}`",
    note = "write a view of an array with four dimensions, `array.view()`"
)]
pub unsafe trait TensorArray<'a, T>: Sized {
    /// The memory, and how the elements lie in it.
    fn place(self) -> (Borrowed<'a>, Strided);

    /// A tensor map of an array whose strides are multiples of 16 bytes.
    ///
    /// # Errors
    ///
    /// The driver's result, if it makes none.
    fn encode(array: Strided, tiling: TensorTiling) -> Result<Image, u32>;
}

/// An array that a kernel may write.
///
/// # Safety
///
/// As for [`TensorArray`]; the memory is borrowed mutably for `'a`, and its elements are distinct.
#[diagnostic::on_unimplemented(
    message = "no output in tiles of elements `{T}` can be made of `{Self}`",
    note = "write a mutable view of an array with four dimensions, `array.view_mut()`"
)]
pub unsafe trait TensorArrayMut<'a, T>: Sized {
    /// As [`TensorArray::place`].
    fn place(self) -> (Borrowed<'a>, Strided);

    /// As [`TensorArray::encode`].
    ///
    /// # Errors
    ///
    /// As there.
    fn encode(array: Strided, tiling: TensorTiling) -> Result<Image, u32>;
}

/// Binds a tensor map, the lengths of the two outer axes, and what `last` makes of that of the rows.
fn bind<'a, L: Pod>(
    (memory, mut array): (Borrowed<'a>, Strided),
    tiling: TensorTiling,
    encode: fn(Strided, TensorTiling) -> Result<Image, u32>,
    last: impl FnOnce(u32) -> L,
    arguments: &mut Arguments<'a>,
) {
    let Strided { address, shape, .. } = array;
    let sixteen = 16 / tiling.element_bytes as isize;
    // An axis of one element has no next one.
    for axis in 0..3 {
        if shape[axis] == 1 {
            array.strides[axis] = shape[3].max(1).next_multiple_of(sixteen as usize) as isize;
        }
    }
    let strides = array.strides;
    let lies_right = (strides[3] == 1 || shape[3] == 1)
        && strides[..3].iter().all(|stride| *stride > 0 && stride % sixteen == 0)
        && address.is_multiple_of(16);
    let made = if shape.contains(&0) {
        Err(ViewError::TensorEmpty { shape: shape.into() })
    } else if shape.iter().any(|&length| length > i32::MAX as usize)
        || shape[..3].iter().map(|&length| length as u128).product::<u128>() > u128::from(u32::MAX)
    {
        Err(ViewError::TooLong { shape: shape.into(), strides: strides.into() })
    } else if !lies_right {
        Err(ViewError::TensorStrides { shape: shape.into(), strides: strides.into(), address })
    } else {
        encode(array, tiling).map_err(|code| ViewError::TensorRefused {
            shape: shape.into(),
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
    for length in &shape[..2] {
        arguments.push_part(&(*length as u32).to_ne_bytes());
    }
    arguments.push_part(bytemuck::bytes_of(&last(shape[2] as u32)));
    arguments.borrow(memory);
}

// SAFETY: a tensor map by value, and three lengths; the memory is not written.
unsafe impl<'a, T, A, const ROWS: usize, const COLUMNS: usize> Argument<'a, TensorMap4<'_, Swizzled<T, ROWS, COLUMNS>>>
    for A
where
    T: Pod,
    Swizzled<T, ROWS, COLUMNS>: Tile<Element = T>,
    A: TensorArray<'a, T>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let tiling = TensorTiling::of::<Swizzled<T, ROWS, COLUMNS>>();
        bind(self.place(), tiling, A::encode, |rows| rows, arguments);
    }
}

// SAFETY: the same; the memory is borrowed mutably.
unsafe impl<'a, T, A, const ROWS: usize, const COLUMNS: usize, const PART: u32>
    Argument<'a, TensorOutput4<'_, Swizzled<T, ROWS, COLUMNS>, PART>> for (A, Order)
where
    T: Pod,
    Swizzled<T, ROWS, COLUMNS>: Tile<Element = T>,
    A: TensorArrayMut<'a, T>,
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        let (array, Order { together, last_first }) = self;
        let tiling = TensorTiling::of::<Swizzled<T, ROWS, COLUMNS>>();
        let last = |rows| RowsInOrder { rows, together, last_first: last_first.into() };
        bind(array.place(), tiling, A::encode, last, arguments);
    }
}

// SAFETY: place and length in the dynamic shared memory.
unsafe impl<Q: Stage, S: Stage, const RESIDENT: usize, const STAGES: usize, const GROUPS: u32>
    Argument<'_, ResidentPipeline<'_, Q, S, RESIDENT, STAGES, GROUPS>> for Workspace
{
    fn bind(self, arguments: &mut Arguments<'_>) {
        bind_shared::<ResidentPipeline<'static, Q, S, RESIDENT, STAGES, GROUPS>>(arguments);
    }
}

// SAFETY: as for the parameter itself.
unsafe impl<'a, T: Tile, A: Argument<'a, TensorMap4<'static, T>>> Argument<'a, Written<for<'l> fn(TensorMap4<'l, T>)>>
    for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        Argument::<'a, TensorMap4<'static, T>>::bind(self, arguments);
    }
}

// SAFETY: as for the parameter itself.
unsafe impl<'a, T: Tile, const ROWS: u32, A: Argument<'a, TensorOutput4<'static, T, ROWS>>>
    Argument<'a, Written<for<'l> fn(TensorOutput4<'l, T, ROWS>)>> for A
{
    fn bind(self, arguments: &mut Arguments<'a>) {
        Argument::<'a, TensorOutput4<'static, T, ROWS>>::bind(self, arguments);
    }
}
