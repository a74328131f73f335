//! Arrays of any number of dimensions in device memory, and views of them: NumPy's arrays, with types.
//!
//! An [`Array`] owns its elements, in row-major order. Slices, transposes, reshapes and broadcasts of it are views, which
//! copy nothing; kernels take arrays and views as `View<T, N>` and `Disjoint<T, Array<N>>`, and vectorized functions
//! ([`Module::map`](crate::Module::map)) take anything. Two views that are written at the same time never overlap: the
//! borrow checker sees to it, and [`ArrayViewMut::split_at_mut`] parts one into two.
//!
//! With the feature `algorithms` there are operators: `(&a * 2.0 + &b).eval()?`.
//!
//! The number of dimensions is part of the type, up to six; lengths are checked when the program runs.
//!
//! ```
//! use rumba::array::{Array, every};
//!
//! let device = rumba::Device::new()?;
//! let mut image = Array::from_fn(&device, [4, 6], |[row, column]| (10 * row + column) as u32)?;
//! image.slice_mut((1..3, every(.., 2))).fill(0)?;
//! assert_eq!(image.row(1).to_vec()?, [0, 11, 0, 13, 0, 15]);
//! assert_eq!(image.transpose().slice((5.., ..)).to_vec()?, [5, 15, 25, 35]);
//! # Ok::<(), rumba::Error>(())
//! ```

#[cfg(feature = "algorithms")]
mod arithmetic;
mod copy;
pub(crate) mod layout;
mod map;
#[cfg(feature = "ndarray")]
mod ndarray;
mod operand;
mod slice;
mod tensor;
mod view;

pub use crate::base::error::ArrayError;
#[cfg(feature = "algorithms")]
pub use arithmetic::{Arithmetic, Expression, Term};
pub use cuda_std::launch::Constant;
#[cfg(feature = "ndarray")]
pub use ndarray::HostArray;
pub use slice::{Slice, Slices, every};
pub use view::{ArrayView, ArrayViewMut};

use crate::base::error::Result;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::DeviceSlice;
use crate::devices::device::Device;
use bytemuck::Pod;
use layout::Layout;
use std::fmt;
use std::ops::{Div, Sub};

/// Elements in `N` dimensions in a device's memory, in row-major order: the last axis is the fastest.
///
/// All that reads or changes parts of it is done through views: [`Array::view`], [`Array::view_mut`], and the methods that
/// make one in passing. See the [module](self).
pub struct Array<T, const N: usize> {
    buffer: DeviceBuffer<T>,
    shape: [usize; N],
}

impl<T: Pod, const N: usize> Array<T, N> {
    /// An array of zeros.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`], [`crate::Error::TooLarge`] and the driver's.
    #[track_caller]
    pub fn zeros(device: &Device, shape: [usize; N]) -> Result<Array<T, N>> {
        let buffer = device.zeros(elements::<T, N>(shape)?)?;
        Ok(Array { buffer, shape })
    }

    /// An array of one value.
    ///
    /// ```
    /// let device = rumba::Device::new()?;
    /// let ones = rumba::array::Array::full(&device, [2, 3], 1.0_f64)?;
    /// assert_eq!(ones.to_vec()?, [1.0; 6]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Array::zeros`].
    #[track_caller]
    pub fn full(device: &Device, shape: [usize; N], value: T) -> Result<Array<T, N>> {
        let mut array = Array::uninitialised(device, shape)?;
        array.fill(value)?;
        Ok(array)
    }

    /// An array with a copy of elements on the host, in row-major order.
    ///
    /// # Errors
    /// [`ArrayError::Elements`] if the number of elements does not fit the shape; otherwise as [`Array::zeros`].
    #[track_caller]
    pub fn from_slice(device: &Device, shape: [usize; N], elements: &[T]) -> Result<Array<T, N>> {
        Array::from_buffer(device.buffer_from(elements)?, shape)
    }

    /// An array whose elements are computed on the host from their indices.
    ///
    /// # Errors
    /// As [`Array::zeros`].
    #[track_caller]
    pub fn from_fn(
        device: &Device,
        shape: [usize; N],
        mut element: impl FnMut([usize; N]) -> T,
    ) -> Result<Array<T, N>> {
        let length = elements::<T, N>(shape)?;
        let mut values = Vec::with_capacity(length);
        let mut index = [0; N];
        for _ in 0..length {
            values.push(element(index));
            for axis in (0..N).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        Array::from_slice(device, shape, &values)
    }

    /// The elements of a buffer as an array.
    ///
    /// # Errors
    /// [`ArrayError::Elements`] if the length of the buffer does not fit the shape.
    pub fn from_buffer(buffer: DeviceBuffer<T>, shape: [usize; N]) -> Result<Array<T, N>> {
        if elements::<T, N>(shape)? != buffer.len() {
            return Err(ArrayError::Elements { elements: buffer.len(), shape: shape.to_vec() }.into());
        }
        Ok(Array { buffer, shape })
    }

    /// The elements, without their shape.
    pub fn into_buffer(self) -> DeviceBuffer<T> {
        self.buffer
    }

    /// The elements one after the other, in row-major order.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.buffer.as_slice()
    }

    #[track_caller]
    pub(crate) fn uninitialised(device: &Device, shape: [usize; N]) -> Result<Array<T, N>> {
        let buffer = DeviceBuffer::uninitialised(device.context(), elements::<T, N>(shape)?)?;
        Ok(Array { buffer, shape })
    }

    /// How long each axis is.
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The whole array, to read.
    pub fn view(&self) -> ArrayView<'_, T, N> {
        ArrayView::new(self.buffer.as_slice(), Layout::row_major(0, self.shape))
    }

    /// The whole array, to write.
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, N> {
        // From a mutable borrow of all elements.
        ArrayViewMut::new(self.buffer.as_slice_mut().into_view(), Layout::row_major(0, self.shape))
    }

    /// A part of the array, to read: a range for each axis, or [`every`] so many of one.
    ///
    /// # Panics
    /// If a range does not lie in its axis, as slices do.
    #[track_caller]
    pub fn slice(&self, slices: impl Slices<N>) -> ArrayView<'_, T, N> {
        self.view().slice(slices)
    }

    /// A part of the array, to write.
    ///
    /// # Panics
    /// If a range does not lie in its axis, as slices do.
    #[track_caller]
    pub fn slice_mut(&mut self, slices: impl Slices<N>) -> ArrayViewMut<'_, T, N> {
        self.view_mut().slice_mut(slices)
    }

    /// The array with its axes in the opposite order.
    pub fn transpose(&self) -> ArrayView<'_, T, N> {
        self.view().transpose()
    }

    /// Converts the array to another shape. No element moves.
    ///
    /// # Errors
    /// [`ArrayError::Elements`] unless the shape has as many elements.
    pub fn reshape<const M: usize>(self, shape: [usize; M]) -> Result<Array<T, M>> {
        Array::from_buffer(self.buffer, shape)
    }

    /// Copies all elements from the host, in row-major order.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] if the numbers of elements differ; the driver's errors.
    pub fn copy_from_slice(&mut self, elements: &[T]) -> Result<()> {
        self.buffer.copy_from(elements)
    }

    /// A copy of all elements on the host, in row-major order.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.buffer.to_vec()
    }

    /// A new array with a copy of the elements.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn try_clone(&self) -> Result<Array<T, N>> {
        let (buffer, shape) = (self.buffer.try_clone()?, self.shape);
        Ok(Array { buffer, shape })
    }

    /// Copies the elements of a view, which is repeated where its axes have one element or are not there.
    ///
    /// # Errors
    /// As [`ArrayViewMut::copy_from`].
    pub fn copy_from<const M: usize>(&mut self, source: &ArrayView<'_, T, M>) -> Result<()> {
        self.view_mut().copy_from(source)
    }

    /// Sets all elements.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&mut self, value: T) -> Result<()> {
        self.view_mut().fill(value)
    }
}

impl<T: Pod> Array<T, 2> {
    /// A row of a matrix.
    ///
    /// # Panics
    /// If `row` is out of bounds.
    #[track_caller]
    pub fn row(&self, row: usize) -> ArrayView<'_, T, 1> {
        self.view().index_axis(0, row)
    }

    /// A column of a matrix.
    ///
    /// # Panics
    /// If `column` is out of bounds.
    #[track_caller]
    pub fn column(&self, column: usize) -> ArrayView<'_, T, 1> {
        self.view().index_axis(1, column)
    }
}

impl<T: Number> Array<T, 1> {
    /// The numbers `start`, `start + step`, ..., `count` of them: NumPy's `arange`. Integers wrap around.
    ///
    /// # Errors
    /// As [`Array::zeros`].
    #[track_caller]
    pub fn arange(device: &Device, start: T, step: T, count: usize) -> Result<Array<T, 1>> {
        Array::from_fn(device, [count], |[index]| start.stepped(step, index))
    }

    /// `count` numbers from `first` to `last`, both included, evenly apart: NumPy's `linspace`.
    ///
    /// # Errors
    /// As [`Array::zeros`].
    #[track_caller]
    pub fn linspace(device: &Device, first: T, last: T, count: usize) -> Result<Array<T, 1>>
    where
        T: From<f32> + Sub<Output = T> + Div<Output = T>,
    {
        let one = T::from(1.0);
        let steps = T::from(0.0).stepped(one, count.saturating_sub(1).max(1));
        let step = (last - first) / steps;
        Array::from_fn(device, [count], |[index]| match index + 1 {
            end if end == count && count > 1 => last,
            _ => first.stepped(step, index),
        })
    }
}

/// Numbers that are counted: see [`Array::arange`].
pub trait Number: Pod + sealed::Sealed {
    /// This number and so many steps.
    #[doc(hidden)]
    fn stepped(self, step: Self, steps: usize) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ident: |$start:ident, $step:ident, $steps:ident| $element:expr;)*) => {$(
        impl sealed::Sealed for $number {}

        impl Number for $number {
            fn stepped(self, $step: $number, $steps: usize) -> $number {
                let $start = self;
                $element
            }
        }
    )*};
}

numbers! {
    f32: |start, step, steps| start + step * steps as f32;
    f64: |start, step, steps| start + step * steps as f64;
    u8: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as u8));
    u16: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as u16));
    u32: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as u32));
    u64: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as u64));
    i8: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as i8));
    i16: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as i16));
    i32: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as i32));
    i64: |start, step, steps| start.wrapping_add(step.wrapping_mul(steps as i64));
}

impl<T, const N: usize> fmt::Debug for Array<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("shape", &self.shape).field("buffer", &self.buffer).finish()
    }
}

/// How many elements a shape has.
fn elements<T, const N: usize>(shape: [usize; N]) -> Result<usize> {
    let product = shape.iter().try_fold(1_usize, |product, &length| product.checked_mul(length));
    // A length of 0 makes an overflow before it harmless, as long as views can compute with the others.
    product
        .filter(|&elements| isize::try_from(elements).is_ok())
        .ok_or(crate::base::error::Error::TooLarge { length: usize::MAX, size: size_of::<T>() })
}
