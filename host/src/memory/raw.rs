//! Bytes of device memory by address, through cust: the few places where an address is trusted.
//!
//! Every function here needs the context of the address to be current.

use crate::profile::{Operation, recording};
use cust::error::CudaResult;
use cust::memory::{AsyncCopyDestination, CopyDestination, DevicePointer, DeviceSlice, cuda_free, cuda_malloc};
use cust::stream::Stream;
use cust::sys::CUstream;

/// Where plain copies go.
pub(super) const NULL_STREAM: CUstream = std::ptr::null_mut();

/// Allocates at least one byte.
pub(super) fn allocate(bytes: usize) -> CudaResult<u64> {
    // SAFETY: the memory is never read as anything but plain bytes.
    let allocate = || unsafe { cuda_malloc::<u8>(bytes) };
    recording::on_host("allocate", allocate).map(|pointer| pointer.as_raw())
}

pub(super) fn free(address: u64) -> CudaResult<()> {
    // SAFETY: callers free what `allocate` gave them, once.
    recording::on_host("free", || unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) })
}

/// Frees host memory that was made with `cuMemHostAlloc`, after all work of the context, which may use it.
pub(super) fn free_host(address: usize) -> CudaResult<()> {
    cust::context::CurrentContext::synchronize()?;
    // SAFETY: callers free what they were given, once.
    unsafe { cust::sys::cuMemFreeHost(std::ptr::with_exposed_provenance_mut(address)) };
    Ok(())
}

/// The caller's promise: `bytes` bytes at `address` belong to an allocation that is borrowed.
fn slice(address: u64, bytes: usize) -> DeviceSlice<u8> {
    // SAFETY: making the slice touches nothing; cust hands address and length on to the driver,
    // which refuses what is not an allocation of the current context.
    unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(address), bytes) }
}

/// Copies from the host, and returns when `source` may change again.
pub(crate) fn copy_in(address: u64, source: &[u8]) -> CudaResult<()> {
    if source.is_empty() {
        Ok(())
    } else {
        let bytes = source.len() as u64;
        recording::on_stream(
            NULL_STREAM,
            || Operation::CopyIn { bytes },
            || slice(address, source.len()).copy_from(source),
        )
    }
}

/// Copies to the host, after all work on the device that may change the source.
pub(crate) fn copy_out(address: u64, destination: &mut [u8]) -> CudaResult<()> {
    if destination.is_empty() {
        Ok(())
    } else {
        let bytes = destination.len() as u64;
        recording::on_stream(
            NULL_STREAM,
            || Operation::CopyOut { bytes },
            || slice(address, destination.len()).copy_to(destination),
        )
    }
}

/// Copies on the device, on a stream.
pub(super) fn copy(source: u64, destination: u64, bytes: usize, stream: &Stream) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let described = || Operation::Copy { bytes: bytes as u64 };
    recording::on_stream(stream.as_inner(), described, || {
        // SAFETY: both memories are freed only after the work on their streams is done.
        unsafe { slice(destination, bytes).async_copy_from(&slice(source, bytes), stream) }
    })
}

/// Puts a copy from the host on a stream.
///
/// # Safety
/// `source` stays valid and unchanged until the stream has done it.
pub(super) unsafe fn copy_in_async(address: u64, source: &[u8], stream: &Stream) -> CudaResult<()> {
    if source.is_empty() {
        return Ok(());
    }
    let bytes = source.len() as u64;
    recording::on_stream(
        stream.as_inner(),
        || Operation::CopyIn { bytes },
        || {
            // SAFETY: the caller's promise.
            unsafe { slice(address, source.len()).async_copy_from(source, stream) }
        },
    )
}

/// Puts a copy to the host on a stream.
///
/// # Safety
/// `destination` stays valid and is not used until the stream has done it.
pub(super) unsafe fn copy_out_async(address: u64, destination: &mut [u8], stream: &Stream) -> CudaResult<()> {
    if destination.is_empty() {
        return Ok(());
    }
    let bytes = destination.len() as u64;
    recording::on_stream(
        stream.as_inner(),
        || Operation::CopyOut { bytes },
        || {
            // SAFETY: the caller's promise.
            unsafe { slice(address, destination.len()).async_copy_to(destination, stream) }
        },
    )
}

/// Sets all bytes, on the null stream.
pub(super) fn fill(address: u64, bytes: usize, value: u8) -> CudaResult<()> {
    if bytes == 0 {
        Ok(())
    } else {
        let described = || Operation::Fill { bytes: bytes as u64 };
        recording::on_stream(NULL_STREAM, described, || slice(address, bytes).set_8(value))
    }
}
