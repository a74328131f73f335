//! The crate [`cust`](https://docs.rs/cust) and this runtime in one program: contexts, streams, buffers and modules, without a copy.
//!
//! Both use the primary context of a device, so what one of them has made the other one can use. This runtime knows the order
//! of its own work only: a buffer changes its owner after all work of the device, and work that `cust` puts on a stream uses
//! memory at the program's own risk, as everywhere in `cust`, where launches and copies in the background are `unsafe`.
//!
//! # Examples
//! ```
//! use cust::memory::CopyDestination;
//! use rumba::test_kernels::{PTX, scale};
//!
//! // Context, stream and memory of cust's; the kernel and its typed launch of this runtime.
//! let device = rumba::Device::new()?;
//! let context = device.to_cust()?;
//! let stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None)?;
//! let numbers = cust::memory::DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
//!
//! let stream = rumba::Stream::from_cust(&device, stream)?;
//! let mut numbers = rumba::DeviceBuffer::from_cust(&device, numbers)?;
//! let module = device.load(PTX)?;
//! module.launch(rumba::LaunchConfig::new(1, 32).stream(&stream), scale(10.0, &mut numbers))?;
//!
//! let numbers: cust::memory::DeviceBuffer<f32> = numbers.into_cust()?;
//! let mut values = [0.0; 3];
//! numbers.copy_to(&mut values)?;
//! assert_eq!(values, [10.0, 20.0, 30.0]);
//! # drop(context);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::base::error::{CustError, DriverError, Error, Result};
use crate::buffers::allocation::Kept;
use crate::cuda::{self, Code, sys};
use crate::{Device, DeviceBuffer, Module, Stream};
use ::cust as theirs;
use bytemuck::Pod;
use std::mem;

/// A code of cust's, for which there is the driver's own.
fn code(error: theirs::error::CudaError) -> Code {
    Code(sys::CUresult(error as u32))
}

impl Device {
    /// The device's primary context as cust's, which becomes current on this thread. The context lives as long as this device or the result.
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn to_cust(&self) -> Result<theirs::context::Context> {
        let operation = || "pass the context on to cust".to_owned();
        let context = self.context();
        let entered = context.enter(operation)?;
        let own = || theirs::context::Context::new(theirs::device::Device::get_device(self.ordinal())?);
        entered.check(own().map_err(code), operation)
    }

    /// The device of a context of cust's.
    ///
    /// # Errors
    /// [`CustError::OtherContext`] unless it is the primary context of its device; the driver's.
    pub fn from_cust(context: &theirs::context::Context) -> Result<Device> {
        // Starts the driver.
        Device::count()?;
        let failed =
            |code| Error::from(DriverError::new("look for the device of a context of cust's".to_owned(), code));
        // SAFETY: cust's handle keeps the context alive.
        let ordinal = unsafe { cuda::device_of(context.as_raw().cast()) }.map_err(failed)?;
        let device = Device::get(ordinal)?;
        if device.context().handle().raw() != context.as_raw().cast() {
            return Err(CustError::OtherContext { what: "the context" }.into());
        }
        Ok(device)
    }
}

impl Stream {
    /// Takes a stream over.
    ///
    /// # Errors
    /// [`CustError::OtherContext`] if it is not one of the device's primary context; [`CustError::NonBlocking`] if it does not
    /// wait for CUDA's legacy default stream, as this runtime expects of its streams; the driver's.
    pub fn from_cust(device: &Device, stream: theirs::stream::Stream) -> Result<Stream> {
        let context = device.context();
        let raw: sys::CUstream = stream.as_inner().cast();
        let operation = || "take a stream over from cust".to_owned();
        let entered = context.enter(operation)?;
        // SAFETY: cust's handle keeps the stream alive; a context is current.
        let (found, is_blocking) = unsafe { (cuda::Stream::context_of(raw), cuda::Stream::is_blocking(raw)) };
        if entered.check(found, operation)? != context.handle().raw() {
            return Err(CustError::OtherContext { what: "the stream" }.into());
        }
        if !entered.check(is_blocking, operation)? {
            return Err(CustError::NonBlocking.into());
        }
        drop(entered);
        mem::forget(stream);
        // SAFETY: a stream of this context, whose only owner was forgotten.
        Ok(unsafe { Stream::from_raw(context, raw) })
    }

    /// The same stream as cust's functions take it.
    ///
    /// # Errors
    /// [`crate::error::GraphError::NotALaunch`] for a stream that only records launches.
    pub fn as_cust(&self) -> Result<&theirs::stream::Stream> {
        const { assert!(size_of::<theirs::stream::Stream>() == size_of::<sys::CUstream>()) };
        let queue = self.queue(|| "pass a stream on to cust".to_owned())?;
        // SAFETY: cust's stream is a structure of one field, the driver's handle, and of no other bytes; a reference drops nothing.
        Ok(unsafe { &*queue.raw.as_ptr().cast() })
    }
}

impl Module {
    /// The same module as cust's functions take it, in a context that must be current for them: [`Device::to_cust`].
    pub fn as_cust(&self) -> &theirs::module::Module {
        const { assert!(size_of::<theirs::module::Module>() == size_of::<sys::CUmodule>()) };
        // SAFETY: as for a stream.
        unsafe { &*self.raw().as_ptr().cast() }
    }
}

impl<T: Pod + theirs::memory::DeviceCopy> DeviceBuffer<T> {
    /// Takes a buffer over, after all work of the device.
    ///
    /// # Errors
    /// [`CustError::OtherContext`] if the memory is not of the device's primary context; what a kernel did wrong meanwhile; the
    /// driver's.
    pub fn from_cust(device: &Device, buffer: theirs::memory::DeviceBuffer<T>) -> Result<DeviceBuffer<T>> {
        let (context, length) = (device.context(), buffer.len());
        let address = buffer.as_device_ptr().as_raw();
        if length * size_of::<T>() > 0 {
            let operation = || "take a buffer over from cust".to_owned();
            let entered = context.enter(operation)?;
            if entered.check(cuda::context_of(address), operation)? != context.handle().raw() {
                return Err(CustError::OtherContext { what: "the buffer" }.into());
            }
        }
        device.synchronize()?;
        mem::forget(buffer);
        // SAFETY: memory of this context from `cuMemAlloc`, of which cust's buffer was the only owner, and with which nothing is
        // done any more.
        Ok(unsafe { DeviceBuffer::from_raw(context, address, length) })
    }

    /// Hands the buffer over, after all work of the device.
    ///
    /// # Errors
    /// [`CustError::Shared`] if a graph or a copy in the background holds the memory; [`CustError::NotAllocated`] for memory of a
    /// pool, which `cust` would not give back to the pool; what a kernel did wrong meanwhile; the driver's.
    pub fn into_cust(self) -> Result<theirs::memory::DeviceBuffer<T>> {
        let length = self.len();
        let memory = self.into_memory();
        memory.wait("hand over")?;
        let address = memory.into_raw().map_err(|kept| match kept {
            Kept::Shared => CustError::Shared,
            Kept::NotAllocated => CustError::NotAllocated,
        })?;
        let pointer = theirs::memory::DevicePointer::from_raw(address);
        // SAFETY: memory from `cuMemAlloc`, of as many elements, of which nothing else is the owner.
        Ok(unsafe { theirs::memory::DeviceBuffer::from_raw_parts(pointer, length) })
    }
}
