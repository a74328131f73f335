//! Views of arrays: any part of one, in any order of its axes.

use crate::array::layout::Layout;
use crate::array::slice::Slices;
use crate::array::{Array, copy};
use crate::base::error::{ArrayError, Result};
use crate::buffers::allocation::Memory;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use bytemuck::Pod;
use std::fmt;

/// Elements in `N` dimensions to read, where they lie in an [`Array`].
pub struct ArrayView<'a, T, const N: usize> {
    memory: DeviceSlice<'a, T>,
    layout: Layout<N>,
}

/// Mutable elements in `N` dimensions, in place in an [`Array`]. The elements are distinct.
pub struct ArrayViewMut<'a, T, const N: usize> {
    view: ArrayView<'a, T, N>,
}

impl<T, const N: usize> Clone for ArrayView<'_, T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const N: usize> Copy for ArrayView<'_, T, N> {}

impl<'a, T: Pod, const N: usize> ArrayView<'a, T, N> {
    pub(crate) fn new(memory: DeviceSlice<'a, T>, layout: Layout<N>) -> ArrayView<'a, T, N> {
        ArrayView { memory, layout }
    }

    fn with<const M: usize>(&self, layout: Layout<M>) -> ArrayView<'a, T, M> {
        ArrayView::new(self.memory, layout)
    }

    pub(crate) fn memory(&self) -> DeviceSlice<'a, T> {
        self.memory
    }

    pub(crate) fn layout(&self) -> &Layout<N> {
        &self.layout
    }

    /// The memory, and the address of the element at index 0.
    pub(crate) fn place(&self) -> (&'a Memory, u64) {
        let address = self.memory.address() + (self.layout.offset * size_of::<T>()) as u64;
        (self.memory.memory(), address)
    }

    /// Reinterprets the elements as another type of the same size.
    #[cfg(feature = "linalg")]
    pub(crate) fn cast<U: Pod>(&self) -> ArrayView<'a, U, N> {
        debug_assert_eq!(size_of::<T>(), size_of::<U>());
        ArrayView::new(self.memory.cast::<U>(), self.layout)
    }

    /// The length of each axis.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }

    /// How many elements further the next one of each axis is.
    pub fn strides(&self) -> [isize; N] {
        self.layout.strides
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether the view has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements lie one after the other, in row-major order.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// The elements one after the other, if they lie so in row-major order.
    pub fn as_slice(&self) -> Option<DeviceSlice<'a, T>> {
        let (start, length) = (self.layout.offset, self.len());
        self.is_contiguous().then(|| match length {
            0 => self.memory.slice(..0),
            _ => self.memory.slice(start..start + length),
        })
    }

    /// A part of this view: a range for each axis, or [`every`](super::every) so many of one.
    ///
    /// # Panics
    /// If a range does not lie in its axis, as slices do.
    #[track_caller]
    pub fn slice(&self, slices: impl Slices<N>) -> ArrayView<'a, T, N> {
        self.with(self.layout.slice(slices))
    }

    /// The axes in the opposite order: of a matrix the transpose.
    pub fn transpose(&self) -> ArrayView<'a, T, N> {
        self.with(self.layout.transpose())
    }

    /// The axes in another order: axis `i` of the result is axis `axes[i]` of this view.
    ///
    /// # Panics
    /// Unless each axis occurs once.
    #[track_caller]
    pub fn permute(&self, axes: [usize; N]) -> ArrayView<'a, T, N> {
        self.with(self.layout.permute(axes))
    }

    /// Views the elements in another shape, without a copy.
    ///
    /// # Errors
    /// [`ArrayError::Elements`] unless the shape has as many elements; [`ArrayError::Reshape`] if the elements do not lie so
    /// that it can be done where they are.
    ///
    /// # Examples
    /// ```
    /// # use rumba::array::Array;
    /// let device = rumba::Device::new()?;
    /// let numbers = Array::arange(&device, 0_u32, 1, 12)?;
    /// let matrix = numbers.view().reshape([3, 4])?;
    /// assert_eq!(matrix.slice((1.., 2..)).to_vec()?, [6, 7, 10, 11]);
    /// assert!(matrix.transpose().reshape([12]).is_err());
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn reshape<const M: usize>(&self, shape: [usize; M]) -> Result<ArrayView<'a, T, M>> {
        reshape(&self.layout, shape).map(|layout| self.with(layout))
    }

    /// Broadcasts the view to a larger shape: axes of length 1 and missing axes are repeated. NumPy's rules.
    ///
    /// # Errors
    /// [`ArrayError::Broadcast`] if the shapes do not fit.
    ///
    /// # Examples
    /// ```
    /// # use rumba::array::Array;
    /// let device = rumba::Device::new()?;
    /// let row = Array::from_slice(&device, [2], &[1, 2])?;
    /// assert_eq!(row.view().broadcast([3, 2])?.to_vec()?, [1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn broadcast<const M: usize>(&self, shape: [usize; M]) -> Result<ArrayView<'a, T, M>> {
        let layout = self
            .layout
            .broadcast(shape)
            .ok_or_else(|| ArrayError::Broadcast { from: self.shape().to_vec(), to: shape.to_vec() })?;
        super::elements::<T, M>(shape)?;
        Ok(self.with(layout))
    }

    /// A copy of the elements on the host, in row-major order.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] if they must be collected first, and the driver's.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        match self.as_slice() {
            Some(slice) => slice.to_vec(),
            None => self.to_array()?.to_vec(),
        }
    }

    /// A new array with a copy of the elements, in row-major order: NumPy's `ascontiguousarray`.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn to_array(&self) -> Result<Array<T, N>> {
        let context = self.memory.memory().context.clone();
        let buffer = DeviceBuffer::uninitialised(context, self.len())?;
        let shape = self.shape();
        let mut array = Array { buffer, shape };
        array.copy_from(self)?;
        Ok(array)
    }
}

impl<'a, T: Pod, const N: usize> From<&'a Array<T, N>> for ArrayView<'a, T, N> {
    fn from(array: &'a Array<T, N>) -> Self {
        array.view()
    }
}

/// A part of a buffer as an array of one dimension, which [`reshape`](ArrayView::reshape) gives more.
///
/// ```
/// # use rumba::array::ArrayView;
/// let numbers = rumba::Device::new()?.buffer_from(&[0, 1, 2, 3, 4, 5, 6])?;
/// let matrix = ArrayView::from(numbers.slice(1..)).reshape([2, 3])?;
/// assert_eq!(matrix.transpose().to_vec()?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), rumba::Error>(())
/// ```
impl<'a, T: Pod> From<DeviceSlice<'a, T>> for ArrayView<'a, T, 1> {
    fn from(slice: DeviceSlice<'a, T>) -> Self {
        ArrayView::new(slice, Layout::row_major(0, [slice.len()]))
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for ArrayView<'a, T, 1> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        buffer.as_slice().into()
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for ArrayViewMut<'a, T, 1> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> Self {
        buffer.as_slice_mut().into()
    }
}

/// As for [`ArrayView`], to write.
impl<'a, T: Pod> From<DeviceSliceMut<'a, T>> for ArrayViewMut<'a, T, 1> {
    fn from(slice: DeviceSliceMut<'a, T>) -> Self {
        let length = slice.len();
        ArrayViewMut::new(slice.into_view(), Layout::row_major(0, [length]))
    }
}

impl<'a, T: Pod, const N: usize> From<&'a mut Array<T, N>> for ArrayViewMut<'a, T, N> {
    fn from(array: &'a mut Array<T, N>) -> Self {
        array.view_mut()
    }
}

impl<'a, T: Pod, const N: usize> ArrayViewMut<'a, T, N> {
    /// `memory` must be borrowed mutably for `'a`, and the layout have each element once.
    pub(crate) fn new(memory: DeviceSlice<'a, T>, layout: Layout<N>) -> ArrayViewMut<'a, T, N> {
        ArrayViewMut { view: ArrayView::new(memory, layout) }
    }

    fn with<const M: usize>(self, layout: Layout<M>) -> ArrayViewMut<'a, T, M> {
        ArrayViewMut::new(self.view.memory, layout)
    }

    /// How long each axis is.
    pub fn shape(&self) -> [usize; N] {
        self.view.shape()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Whether the view has no elements.
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// A read-only view of the elements.
    pub fn view(&self) -> ArrayView<'_, T, N> {
        self.view
    }

    /// The view alone, its borrow still mutable.
    pub(crate) fn into_view(self) -> ArrayView<'a, T, N> {
        self.view
    }

    /// The elements one after the other, if they lie so in row-major order.
    pub fn into_slice(self) -> Option<DeviceSliceMut<'a, T>> {
        // SAFETY: the view is the only one of its elements, and goes.
        Some(unsafe { self.view.as_slice()?.assume_mut() })
    }

    /// A shorter borrow of this view.
    pub fn reborrow(&mut self) -> ArrayViewMut<'_, T, N> {
        ArrayViewMut { view: self.view }
    }

    /// A part of this view: see [`ArrayView::slice`].
    ///
    /// # Panics
    /// If a range does not lie in its axis, as slices do.
    #[track_caller]
    pub fn slice_mut(self, slices: impl Slices<N>) -> ArrayViewMut<'a, T, N> {
        let layout = self.view.layout.slice(slices);
        self.with(layout)
    }

    /// The axes in the opposite order.
    pub fn transpose(self) -> ArrayViewMut<'a, T, N> {
        let layout = self.view.layout.transpose();
        self.with(layout)
    }

    /// The axes in another order: see [`ArrayView::permute`].
    ///
    /// # Panics
    /// Unless each axis occurs once.
    #[track_caller]
    pub fn permute(self, axes: [usize; N]) -> ArrayViewMut<'a, T, N> {
        let layout = self.view.layout.permute(axes);
        self.with(layout)
    }

    /// Views the elements in another shape: see [`ArrayView::reshape`].
    ///
    /// # Errors
    /// As [`ArrayView::reshape`].
    pub fn reshape<const M: usize>(self, shape: [usize; M]) -> Result<ArrayViewMut<'a, T, M>> {
        let layout = reshape(&self.view.layout, shape)?;
        Ok(self.with(layout))
    }

    /// Two parts that can be written at the same time: what is before an index of an axis, and the rest.
    ///
    /// # Panics
    /// If the axis has fewer elements, or is not there.
    ///
    /// # Examples
    /// ```
    /// # use rumba::array::Array;
    /// let device = rumba::Device::new()?;
    /// let mut matrix = Array::zeros(&device, [2, 3])?;
    /// let (mut left, mut right) = matrix.view_mut().split_at_mut(1, 1);
    /// left.fill(1_u8)?;
    /// right.fill(2)?;
    /// assert_eq!(matrix.to_vec()?, [1, 2, 2, 1, 2, 2]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    ///
    /// Two that overlap do not compile:
    ///
    /// ```compile_fail,E0499
    /// # fn main() -> Result<(), rumba::Error> {
    /// # let mut matrix = rumba::array::Array::<u8, 2>::zeros(&rumba::Device::new()?, [2, 3])?;
    /// let mut left = matrix.slice_mut((.., ..2));
    /// let mut right = matrix.slice_mut((.., 1..));
    /// left.fill(1)?;
    /// # right.fill(2)
    /// # }
    /// ```
    #[track_caller]
    pub fn split_at_mut(self, axis: usize, at: usize) -> (ArrayViewMut<'a, T, N>, ArrayViewMut<'a, T, N>) {
        let (left, right) = self.view.layout.split(axis, at);
        let memory = self.view.memory;
        (ArrayViewMut::new(memory, left), ArrayViewMut::new(memory, right))
    }

    /// Copies the elements of another view of the same device, which is repeated where its axes have one element or are
    /// not there.
    ///
    /// # Errors
    /// [`ArrayError::Broadcast`] if the shapes do not fit, [`crate::Error::OtherDevice`]; the driver's.
    pub fn copy_from<const M: usize>(&mut self, source: &ArrayView<'_, T, M>) -> Result<()> {
        let source = source.broadcast(self.shape())?;
        match (source.as_slice(), self.view.as_slice()) {
            // SAFETY: the view is the only one of its elements, and borrowed mutably.
            (Some(source), Some(destination)) => unsafe { destination.assume_mut() }.copy_from_device(&source),
            _ => copy::strided(&source, &self.view),
        }
    }

    /// Copies elements from the host, in row-major order.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless there are as many; [`crate::Error::OutOfMemory`] if they must be spread out
    /// on the device; the driver's.
    #[track_caller]
    pub fn copy_from_slice(&mut self, elements: &[T]) -> Result<()> {
        crate::buffers::view::same_length("copy to the device", elements.len(), self.len())?;
        match self.view.as_slice() {
            // SAFETY: as in `copy_from`.
            Some(slice) => unsafe { slice.assume_mut() }.copy_from(elements),
            None => {
                let context = self.view.memory.memory().context.clone();
                let buffer = DeviceBuffer::from_slice(context, elements)?;
                let staged = ArrayView::new(buffer.as_slice(), Layout::row_major(0, self.shape()));
                copy::strided(&staged, &self.view)
            }
        }
    }

    /// Sets all elements.
    ///
    /// # Errors
    /// The driver's.
    pub fn fill(&mut self, value: T) -> Result<()> {
        copy::fill(value, &self.view)
    }
}

fn reshape<const N: usize, const M: usize>(layout: &Layout<N>, shape: [usize; M]) -> Result<Layout<M>> {
    if super::elements::<u8, M>(shape)? != layout.len() {
        return Err(ArrayError::Elements { elements: layout.len(), shape: shape.to_vec() }.into());
    }
    let reshaped = layout.reshape(shape).ok_or_else(|| ArrayError::Reshape {
        from: layout.shape.to_vec(),
        strides: layout.strides.to_vec(),
        to: shape.to_vec(),
    })?;
    Ok(reshaped)
}

/// Methods that change the number of dimensions: stable Rust cannot compute a const parameter.
macro_rules! axes {
    ($($more:literal $less:literal;)*) => {$(
        impl<'a, T: Pod> ArrayView<'a, T, $more> {
            /// The elements at one index of an axis, without the axis.
            ///
            /// # Panics
            /// If `axis` or `index` is out of bounds.
            #[track_caller]
            pub fn index_axis(&self, axis: usize, index: usize) -> ArrayView<'a, T, $less> {
                self.with(self.layout.index_axis(axis, index))
            }
        }

        impl<'a, T: Pod> ArrayViewMut<'a, T, $more> {
            /// The elements at one index of an axis, without the axis.
            ///
            /// # Panics
            /// If `axis` or `index` is out of bounds.
            #[track_caller]
            pub fn index_axis_mut(self, axis: usize, index: usize) -> ArrayViewMut<'a, T, $less> {
                let layout = self.view.layout.index_axis(axis, index);
                self.with(layout)
            }
        }

        impl<'a, T: Pod> ArrayView<'a, T, $less> {
            /// With a new axis of one element before axis `axis`: NumPy's `newaxis`.
            ///
            /// # Panics
            /// If there are fewer axes.
            #[track_caller]
            pub fn insert_axis(&self, axis: usize) -> ArrayView<'a, T, $more> {
                self.with(self.layout.insert_axis(axis))
            }
        }
    )*};
}

axes! {
    1 0;
    2 1;
    3 2;
    4 3;
    5 4;
    6 5;
}

impl<T, const N: usize> fmt::Debug for ArrayView<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrayView")
            .field("shape", &self.layout.shape)
            .field("strides", &self.layout.strides)
            .field("memory", &self.memory)
            .finish()
    }
}

impl<T, const N: usize> fmt::Debug for ArrayViewMut<'_, T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ArrayViewMut").field(&self.view).finish()
    }
}
