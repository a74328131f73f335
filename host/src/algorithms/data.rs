//! Arguments of algorithms: device memory directly, and host slices by a copy.

use crate::base::error::Result;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::devices::device::Device;
use bytemuck::Pod;

/// An input of an algorithm: `&DeviceBuffer<T>`, a `DeviceSlice<T>`, or a host's `&[T]`, `&Vec<T>`, `&[T; N]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what an algorithm reads elements of type `{T}` from",
    note = "inputs are `&DeviceBuffer<{T}>`, `DeviceSlice<{T}>`, `&[{T}]`, `&Vec<{T}>` or `&[{T}; N]`"
)]
pub trait Source<'a, T: Pod> {
    /// Does something with the elements in device memory.
    ///
    /// # Errors
    /// What `work` returns; of host memory also [`crate::Error::OutOfMemory`] and the driver's.
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSlice<'_, T>) -> Result<R>) -> Result<R>;
}

/// An output of an algorithm: `&mut DeviceBuffer<T>`, a `DeviceSliceMut<T>`, or a host's `&mut [T]`, `&mut Vec<T>`,
/// `&mut [T; N]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what an algorithm writes elements of type `{T}` to",
    note = "outputs are `&mut DeviceBuffer<{T}>`, `DeviceSliceMut<{T}>`, `&mut [{T}]`, `&mut Vec<{T}>` or `&mut [{T}; N]`"
)]
pub trait Target<'a, T: Pod> {
    /// Does something with the elements in device memory.
    ///
    /// # Errors
    /// What `work` returns; of host memory also [`crate::Error::OutOfMemory`] and the driver's.
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSliceMut<'_, T>) -> Result<R>) -> Result<R>;
}

impl<'a, T: Pod> Source<'a, T> for DeviceSlice<'a, T> {
    fn on_device<R>(self, _: &Device, work: impl FnOnce(DeviceSlice<'_, T>) -> Result<R>) -> Result<R> {
        work(self)
    }
}

impl<'a, T: Pod> Source<'a, T> for &'a DeviceBuffer<T> {
    fn on_device<R>(self, _: &Device, work: impl FnOnce(DeviceSlice<'_, T>) -> Result<R>) -> Result<R> {
        work(self.as_slice())
    }
}

impl<'a, T: Pod> Source<'a, T> for &'a [T] {
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSlice<'_, T>) -> Result<R>) -> Result<R> {
        work(device.buffer_from(self)?.as_slice())
    }
}

impl<'a, T: Pod> Source<'a, T> for &'a Vec<T> {
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSlice<'_, T>) -> Result<R>) -> Result<R> {
        Source::on_device(self.as_slice(), device, work)
    }
}

impl<'a, T: Pod, const N: usize> Source<'a, T> for &'a [T; N] {
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSlice<'_, T>) -> Result<R>) -> Result<R> {
        Source::on_device(self.as_slice(), device, work)
    }
}

impl<'a, T: Pod> Target<'a, T> for DeviceSliceMut<'a, T> {
    fn on_device<R>(self, _: &Device, work: impl FnOnce(DeviceSliceMut<'_, T>) -> Result<R>) -> Result<R> {
        work(self)
    }
}

impl<'a, T: Pod> Target<'a, T> for &'a mut DeviceBuffer<T> {
    fn on_device<R>(self, _: &Device, work: impl FnOnce(DeviceSliceMut<'_, T>) -> Result<R>) -> Result<R> {
        work(self.as_slice_mut())
    }
}

impl<'a, T: Pod> Target<'a, T> for &'a mut [T] {
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSliceMut<'_, T>) -> Result<R>) -> Result<R> {
        let mut buffer = device.buffer_from(self)?;
        let result = work(buffer.as_slice_mut())?;
        buffer.copy_to(self)?;
        Ok(result)
    }
}

impl<'a, T: Pod> Target<'a, T> for &'a mut Vec<T> {
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSliceMut<'_, T>) -> Result<R>) -> Result<R> {
        Target::on_device(self.as_mut_slice(), device, work)
    }
}

impl<'a, T: Pod, const N: usize> Target<'a, T> for &'a mut [T; N] {
    fn on_device<R>(self, device: &Device, work: impl FnOnce(DeviceSliceMut<'_, T>) -> Result<R>) -> Result<R> {
        Target::on_device(self.as_mut_slice(), device, work)
    }
}
