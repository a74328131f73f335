//! Bytes of device memory by address, the few places where an address is trusted.
//!
//! Every function here needs the context of the address to be current. Those that take an address are `unsafe`: the driver
//! refuses an address that it does not know, but nothing tells it whose allocation an address belongs to.

use crate::base::activity::Operation;
use crate::base::error::answer;
use crate::base::recording;
use crate::cuda::{self, Code, Stream, sys};

/// Where plain copies go.
pub(crate) const NULL_STREAM: Option<&Stream> = None;

/// Allocates at least one byte.
pub(crate) fn allocate(bytes: usize) -> Result<u64, Code> {
    let mut address = 0;
    // SAFETY: the place is valid.
    recording::on_host("allocate", || answer(unsafe { sys::cuMemAlloc_v2(&mut address, bytes) }))?;
    Ok(address)
}

/// Frees device memory, after all work that uses it.
///
/// # Safety
/// `address` is from [`allocate`] or from `cuMemAllocManaged`, was not freed before, and nothing uses the memory afterwards.
pub(crate) unsafe fn free(address: u64) -> Result<(), Code> {
    // SAFETY: the caller's promise.
    recording::on_host("free", || answer(unsafe { sys::cuMemFree_v2(address) }))
}

/// Frees host memory, after all work of the context, which may use it.
///
/// # Safety
/// `address` is from `cuMemHostAlloc`, was not freed before, and nothing uses the memory afterwards.
pub(crate) unsafe fn free_host(address: usize) -> Result<(), Code> {
    cuda::synchronize()?;
    // SAFETY: the caller's promise; work that was given the memory before is done.
    let _ = unsafe { sys::cuMemFreeHost(std::ptr::with_exposed_provenance_mut(address)) };
    Ok(())
}

/// Copies from the host, and returns when `source` may change again.
///
/// # Safety
/// The caller may write `source.len()` bytes at `address`, which belong to one allocation.
pub(crate) unsafe fn copy_in(address: u64, source: &[u8]) -> Result<(), Code> {
    if source.is_empty() {
        Ok(())
    } else {
        let bytes = source.len() as u64;
        recording::on_stream(
            NULL_STREAM,
            || Operation::CopyIn { bytes },
            // SAFETY: the caller's promise; the allocation stays as long as the call.
            || answer(unsafe { sys::cuMemcpyHtoD_v2(address, source.as_ptr().cast(), source.len()) }),
        )
    }
}

/// Copies to the host, after all work on the device that may change the source.
///
/// # Safety
/// The caller may read `destination.len()` bytes at `address`, which belong to one allocation.
pub(crate) unsafe fn copy_out(address: u64, destination: &mut [u8]) -> Result<(), Code> {
    if destination.is_empty() {
        Ok(())
    } else {
        let bytes = destination.len() as u64;
        recording::on_stream(
            NULL_STREAM,
            || Operation::CopyOut { bytes },
            // SAFETY: the caller's promise; the allocation stays as long as the call.
            || answer(unsafe { sys::cuMemcpyDtoH_v2(destination.as_mut_ptr().cast(), address, destination.len()) }),
        )
    }
}

/// Copies on the device, on a stream.
///
/// # Safety
/// The caller may read `bytes` bytes at `source` and write as many at `destination`, each of one allocation that is freed only
/// after the stream has done the copy.
pub(crate) unsafe fn copy(source: u64, destination: u64, bytes: usize, stream: &Stream) -> Result<(), Code> {
    if bytes == 0 {
        return Ok(());
    }
    let described = || Operation::Copy { bytes: bytes as u64 };
    recording::on_stream(Some(stream), described, || {
        // SAFETY: the caller's promise.
        answer(unsafe { sys::cuMemcpyDtoDAsync_v2(destination, source, bytes, stream.raw()) })
    })
}

/// Puts a copy from the host on a stream.
///
/// # Safety
/// As [`copy_in`]; until the stream has done the copy, the allocation stays, and `source` stays valid and unchanged.
pub(crate) unsafe fn copy_in_async(address: u64, source: &[u8], stream: &Stream) -> Result<(), Code> {
    if source.is_empty() {
        return Ok(());
    }
    let bytes = source.len() as u64;
    recording::on_stream(
        Some(stream),
        || Operation::CopyIn { bytes },
        || {
            // SAFETY: the caller's promise.
            answer(unsafe { sys::cuMemcpyHtoDAsync_v2(address, source.as_ptr().cast(), source.len(), stream.raw()) })
        },
    )
}

/// Puts a copy to the host on a stream.
///
/// # Safety
/// As [`copy_out`]; until the stream has done the copy, the allocation stays, and `destination` stays valid and is not used.
pub(crate) unsafe fn copy_out_async(address: u64, destination: &mut [u8], stream: &Stream) -> Result<(), Code> {
    if destination.is_empty() {
        return Ok(());
    }
    let bytes = destination.len() as u64;
    recording::on_stream(
        Some(stream),
        || Operation::CopyOut { bytes },
        || {
            // SAFETY: the caller's promise.
            answer(unsafe {
                sys::cuMemcpyDtoHAsync_v2(destination.as_mut_ptr().cast(), address, destination.len(), stream.raw())
            })
        },
    )
}

/// Sets all bytes, on the null stream.
///
/// # Safety
/// The caller may write `bytes` bytes at `address`, which belong to one allocation that is freed only after the null stream has
/// done it.
pub(crate) unsafe fn fill(address: u64, bytes: usize, value: u8) -> Result<(), Code> {
    if bytes == 0 {
        Ok(())
    } else {
        let described = || Operation::Fill { bytes: bytes as u64 };
        recording::on_stream(NULL_STREAM, described, || {
            // SAFETY: the caller's promise.
            answer(unsafe { sys::cuMemsetD8_v2(address, value, bytes) })
        })
    }
}
