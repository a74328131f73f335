//! Arrays in memory of other libraries.

use super::held::Held;
use super::{Element, InteropError, Place, Tensor};
use crate::array::layout::Layout;
use crate::array::{ArrayView, ArrayViewMut};
use crate::base::error::Result;
use crate::buffers::allocation::Memory;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::cuda;
use crate::devices::device::Device;

/// An array in memory of another library, to read. The owner gets the memory back when this is dropped, after all work of the
/// device that uses it.
pub struct Foreign<T, const N: usize> {
    /// From an address on that is aligned as allocations are to the last element.
    buffer: DeviceBuffer<T>,
    layout: Layout<N>,
}

/// An array in memory of another library, to write. The owner gets the memory back when this is dropped, after all work of the
/// device that uses it.
pub struct ForeignMut<T, const N: usize>(Foreign<T, N>);

impl<T: Element, const N: usize> Foreign<T, N> {
    pub(super) fn new(tensor: Tensor, device: &Device, writes: bool) -> Result<Self> {
        tensor.has_type::<T>()?;
        let shape = tensor.dimensions()?;
        let (context, ours) = (device.context(), device.ordinal());
        match tensor.place {
            Place::Host => return Err(InteropError::OnHost.into()),
            Place::Device(theirs) if theirs != ours => return Err(InteropError::OtherDevice { theirs, ours }.into()),
            Place::Device(_) => {}
        }
        let reach = if tensor.is_empty() { None } else { tensor.reach() };
        let Some(reach) = reach else {
            return Ok(Self { buffer: DeviceBuffer::uninitialised(context, 0)?, layout: Layout::row_major(0, shape) });
        };
        {
            let entered = context.enter(|| "take a tensor of another library".to_owned())?;
            let other = || InteropError::OtherContext { address: tensor.address, ordinal: ours };
            let found = cuda::context_of(reach.start).map_err(|_| other())?;
            // Managed memory may name no context.
            if !found.is_null() && found != entered.context.handle().raw() {
                return Err(other().into());
            }
        }
        let held = Held::new(reach.clone(), writes)?;
        let start = reach.start - reach.start % Memory::ALIGNMENT as u64;
        let (address, size) = (tensor.address, size_of::<T>() as u64);
        let mut strides = [0; N];
        strides.copy_from_slice(&tensor.strides);
        // SAFETY: the elements are alive as long as their owner, which is among what is kept, and nothing else uses them meanwhile;
        // the views below reach no other bytes.
        let memory = unsafe {
            Memory::foreign::<T>(context, start, (reach.end - start) as usize, Box::new((held, tensor.owner)))
        };
        // Sizes of elements are powers of two up to 16, so that addresses of elements are multiples from an aligned start.
        let length = ((reach.end - start) / size) as usize;
        let offset = ((address - start) / size) as usize;
        Ok(Self { buffer: DeviceBuffer::of(memory, length), layout: Layout { offset, shape, strides } })
    }

    /// The elements. A view is an argument of kernels.
    pub fn view(&self) -> ArrayView<'_, T, N> {
        ArrayView::new(self.buffer.as_slice(), self.layout)
    }

    /// The elements one after the other, as kernels take slices.
    ///
    /// # Errors
    /// [`InteropError::NotContiguous`] if they are not in row-major order, one after the other.
    pub fn as_slice(&self) -> Result<DeviceSlice<'_, T>> {
        self.view().as_slice().ok_or_else(|| self.not_contiguous().into())
    }

    /// The length of each axis.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn not_contiguous(&self) -> InteropError {
        InteropError::NotContiguous { shape: self.layout.shape.to_vec(), strides: self.layout.strides.to_vec() }
    }
}

impl<T: Element, const N: usize> ForeignMut<T, N> {
    /// The array is one to write, and its elements are distinct.
    pub(super) fn new(array: Foreign<T, N>) -> Self {
        Self(array)
    }

    /// Waits for all work of the device.
    #[cfg(feature = "python")]
    pub(super) fn wait(&self) -> Result<()> {
        self.0.buffer.as_slice().memory().wait("write")
    }

    /// The elements, to read.
    pub fn view(&self) -> ArrayView<'_, T, N> {
        self.0.view()
    }

    /// The elements, to write. A view is an argument of kernels.
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, N> {
        let layout = self.0.layout;
        ArrayViewMut::new(self.0.buffer.as_slice_mut().into_view(), layout)
    }

    /// The elements one after the other, as kernels take slices.
    ///
    /// # Errors
    /// [`InteropError::NotContiguous`] if they are not in row-major order, one after the other.
    pub fn as_slice(&self) -> Result<DeviceSlice<'_, T>> {
        self.0.as_slice()
    }

    /// The elements one after the other, as kernels take slices that they write.
    ///
    /// # Errors
    /// [`InteropError::NotContiguous`] if they are not in row-major order, one after the other.
    pub fn as_slice_mut(&mut self) -> Result<DeviceSliceMut<'_, T>> {
        let error = self.0.not_contiguous();
        self.view_mut().into_slice().ok_or_else(|| error.into())
    }

    /// The length of each axis.
    pub fn shape(&self) -> [usize; N] {
        self.0.shape()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
