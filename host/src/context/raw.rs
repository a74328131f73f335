//! Bytes of device memory by address, through cust: the few places where an address is trusted.
//!
//! Every function here needs the context of the address to be current. Those that take an address are `unsafe`: the driver
//! refuses an address that it does not know, but nothing tells it whose allocation an address belongs to.

use crate::base::activity::Operation;
use crate::base::recording;
use cust::error::CudaResult;
use cust::memory::{AsyncCopyDestination, CopyDestination, DevicePointer, DeviceSlice, cuda_free, cuda_malloc};
use cust::stream::Stream;

/// Where plain copies go.
pub(crate) const NULL_STREAM: Option<&Stream> = None;

/// Allocates at least one byte.
pub(crate) fn allocate(bytes: usize) -> CudaResult<u64> {
    // SAFETY: the memory is never read as anything but plain bytes.
    let allocate = || unsafe { cuda_malloc::<u8>(bytes) };
    recording::on_host("allocate", allocate).map(|pointer| pointer.as_raw())
}

/// Frees device memory, after all work that uses it.
///
/// # Safety
/// `address` is from [`allocate`] or from `cuMemAllocManaged`, was not freed before, and nothing uses the memory afterwards.
pub(crate) unsafe fn free(address: u64) -> CudaResult<()> {
    // SAFETY: the caller's promise.
    recording::on_host("free", || unsafe { cuda_free(DevicePointer::<u8>::from_raw(address)) })
}

/// Frees host memory, after all work of the context, which may use it.
///
/// # Safety
/// `address` is from `cuMemHostAlloc`, was not freed before, and nothing uses the memory afterwards.
pub(crate) unsafe fn free_host(address: usize) -> CudaResult<()> {
    cust::context::CurrentContext::synchronize()?;
    // SAFETY: the caller's promise; work that was given the memory before is done.
    unsafe { cust::sys::cuMemFreeHost(std::ptr::with_exposed_provenance_mut(address)) };
    Ok(())
}

/// # Safety
/// `bytes` bytes at `address` belong to an allocation that stays while the slice is used, and that the caller may write to
/// where it does.
unsafe fn slice(address: u64, bytes: usize) -> DeviceSlice<u8> {
    // SAFETY: the caller's promise; making the slice touches nothing.
    unsafe { DeviceSlice::from_raw_parts(DevicePointer::from_raw(address), bytes) }
}

/// Copies from the host, and returns when `source` may change again.
///
/// # Safety
/// The caller may write `source.len()` bytes at `address`, which belong to one allocation.
pub(crate) unsafe fn copy_in(address: u64, source: &[u8]) -> CudaResult<()> {
    if source.is_empty() {
        Ok(())
    } else {
        let bytes = source.len() as u64;
        recording::on_stream(
            NULL_STREAM,
            || Operation::CopyIn { bytes },
            // SAFETY: the caller's promise; the allocation stays as long as the call.
            || unsafe { slice(address, source.len()) }.copy_from(source),
        )
    }
}

/// Copies to the host, after all work on the device that may change the source.
///
/// # Safety
/// The caller may read `destination.len()` bytes at `address`, which belong to one allocation.
pub(crate) unsafe fn copy_out(address: u64, destination: &mut [u8]) -> CudaResult<()> {
    if destination.is_empty() {
        Ok(())
    } else {
        let bytes = destination.len() as u64;
        recording::on_stream(
            NULL_STREAM,
            || Operation::CopyOut { bytes },
            // SAFETY: the caller's promise; the allocation stays as long as the call.
            || unsafe { slice(address, destination.len()) }.copy_to(destination),
        )
    }
}

/// Copies on the device, on a stream.
///
/// # Safety
/// The caller may read `bytes` bytes at `source` and write as many at `destination`, each of one allocation that is freed only
/// after the stream has done the copy.
pub(crate) unsafe fn copy(source: u64, destination: u64, bytes: usize, stream: &Stream) -> CudaResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    let described = || Operation::Copy { bytes: bytes as u64 };
    recording::on_stream(Some(stream), described, || {
        // SAFETY: the caller's promise.
        unsafe { slice(destination, bytes).async_copy_from(&slice(source, bytes), stream) }
    })
}

/// Puts a copy from the host on a stream.
///
/// # Safety
/// As [`copy_in`]; until the stream has done the copy, the allocation stays, and `source` stays valid and unchanged.
pub(crate) unsafe fn copy_in_async(address: u64, source: &[u8], stream: &Stream) -> CudaResult<()> {
    if source.is_empty() {
        return Ok(());
    }
    let bytes = source.len() as u64;
    recording::on_stream(
        Some(stream),
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
/// As [`copy_out`]; until the stream has done the copy, the allocation stays, and `destination` stays valid and is not used.
pub(crate) unsafe fn copy_out_async(address: u64, destination: &mut [u8], stream: &Stream) -> CudaResult<()> {
    if destination.is_empty() {
        return Ok(());
    }
    let bytes = destination.len() as u64;
    recording::on_stream(
        Some(stream),
        || Operation::CopyOut { bytes },
        || {
            // SAFETY: the caller's promise.
            unsafe { slice(address, destination.len()).async_copy_to(destination, stream) }
        },
    )
}

/// Sets all bytes, on the null stream.
///
/// # Safety
/// The caller may write `bytes` bytes at `address`, which belong to one allocation that is freed only after the null stream has
/// done it.
pub(crate) unsafe fn fill(address: u64, bytes: usize, value: u8) -> CudaResult<()> {
    if bytes == 0 {
        Ok(())
    } else {
        let described = || Operation::Fill { bytes: bytes as u64 };
        recording::on_stream(NULL_STREAM, described, || {
            // SAFETY: the caller's promise.
            unsafe { slice(address, bytes) }.set_8(value)
        })
    }
}
