//! The typed buffer in device memory.

use crate::base::error::Result;
use crate::buffers::allocation::Memory;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::context::Context;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Elements in a device's memory, freed when dropped: what `Vec` is on the host.
///
/// Pass it to a kernel by `&` for an input and by `&mut` for an output. No data moves then; that is
/// the difference from passing a host slice.
///
/// # Examples
/// ```
/// let device = rumba::Device::new()?;
/// let mut buffer = device.zeros::<u32>(8)?;
/// buffer.slice_mut(2..5).copy_from(&[7, 8, 9])?;
/// assert_eq!(buffer.to_vec()?, [0, 0, 7, 8, 9, 0, 0, 0]);
/// # Ok::<(), rumba::Error>(())
/// ```
pub struct DeviceBuffer<T> {
    memory: Memory,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Pod> DeviceBuffer<T> {
    #[track_caller]
    pub(crate) fn uninitialised(context: Arc<Context>, length: usize) -> Result<DeviceBuffer<T>> {
        Ok(DeviceBuffer::of(Memory::new::<T>(context, length)?, length))
    }

    pub(crate) fn of(memory: Memory, length: usize) -> DeviceBuffer<T> {
        DeviceBuffer { memory, length, element: PhantomData }
    }

    #[track_caller]
    pub(crate) fn zeros(context: Arc<Context>, length: usize) -> Result<DeviceBuffer<T>> {
        let mut buffer = DeviceBuffer::uninitialised(context, length)?;
        buffer.clear()?;
        Ok(buffer)
    }

    #[track_caller]
    pub(crate) fn from_slice(context: Arc<Context>, values: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = DeviceBuffer::uninitialised(context, values.len())?;
        buffer.copy_from(values)?;
        Ok(buffer)
    }

    /// A buffer of memory that another library has allocated.
    ///
    /// # Safety
    /// As for [`Memory::from_raw`].
    #[cfg(feature = "cust")]
    pub(crate) unsafe fn from_raw(context: Arc<Context>, address: u64, length: usize) -> DeviceBuffer<T> {
        // SAFETY: the caller's promise.
        DeviceBuffer::of(unsafe { Memory::from_raw::<T>(context, address, length) }, length)
    }

    /// The memory, of which nothing of this buffer is left.
    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub(crate) fn into_memory(self) -> Memory {
        self.memory
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Copies all elements from the host.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless `source` is as long as the buffer; the driver's.
    pub fn copy_from(&mut self, source: &[T]) -> Result<()> {
        self.as_slice_mut().copy_from(source)
    }

    /// Copies all elements to the host.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless `destination` is as long as the buffer; the driver's.
    pub fn copy_to(&self, destination: &mut [T]) -> Result<()> {
        self.as_slice().copy_to(destination)
    }

    /// A copy of all elements on the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.as_slice().to_vec()
    }

    /// Copies all elements from another buffer, also one of another device: see [`DeviceSliceMut::copy_from_device`].
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; the driver's.
    pub fn copy_from_buffer(&mut self, source: &DeviceBuffer<T>) -> Result<()> {
        self.as_slice_mut().copy_from_device(&source.as_slice())
    }

    /// A new buffer with a copy of the elements.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn try_clone(&self) -> Result<DeviceBuffer<T>> {
        self.as_slice().to_buffer()
    }

    /// Sets all bytes to zero.
    ///
    /// # Errors
    /// The driver's.
    pub fn clear(&mut self) -> Result<()> {
        self.as_slice_mut().clear()
    }

    /// All elements, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::whole(&self.memory, self.length)
    }

    /// All elements, to write.
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: the buffer is borrowed mutably, and its memory with it.
        unsafe { DeviceSliceMut::whole(&self.memory, self.length) }
    }

    /// Some elements, to read.
    ///
    /// # Panics
    /// If the range does not lie in the buffer, as slices do.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceSlice<'_, T> {
        self.as_slice().slice(range)
    }

    /// Some elements, to write.
    ///
    /// # Panics
    /// If the range does not lie in the buffer, as slices do.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> DeviceSliceMut<'_, T> {
        self.as_slice_mut().slice_mut(range)
    }

    /// The buffer's address, for kernels that take raw pointers. Passing it on does not keep the
    /// buffer alive.
    pub fn as_device_pointer(&self) -> DevicePointer<T> {
        DevicePointer { address: self.memory.address, element: PhantomData }
    }
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.memory.context.ordinal;
        write!(f, "DeviceBuffer<{}>({} elements, device {device})", self.memory.element, self.length)
    }
}

/// An address in device memory. The host cannot follow it.
#[derive(PartialEq, Eq)]
pub struct DevicePointer<T> {
    address: u64,
    element: PhantomData<*mut T>,
}

// SAFETY: it is a number; following it on the device is a kernel's unsafe business.
unsafe impl<T> Send for DevicePointer<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for DevicePointer<T> {}

impl<T> DevicePointer<T> {
    /// The address as a number.
    pub fn address(self) -> u64 {
        self.address
    }

    /// The pointer that a number stands for.
    pub fn from_address(address: u64) -> DevicePointer<T> {
        DevicePointer { address, element: PhantomData }
    }
}

impl<T> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePointer<T> {}

impl<T> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePointer({:#x})", self.address)
    }
}
