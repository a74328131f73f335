//! Copies of lines of bytes between host and device memory. Rectangles and boxes are copied in
//! [`super::rectangle`], arrays in [`super::array`].
//!
//! A copy without `Async` is done when the call returns. One with it is done in the order of its stream; pageable memory
//! of the host is read, or written, before the call returns, as with NVIDIA's driver.

use std::ffi::c_void;

use crate::abi::{CUcontext, CUdeviceptr, CUstream, In, Out, answer};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::work::{Grid, Transfer};

/// Where one side of a copy is.
#[derive(Clone, Copy)]
pub(super) struct CopySide {
    address: u64,
    may_be_of_host: bool,
}

impl CopySide {
    /// Memory that the machine knows; refused where it does not.
    pub(super) fn device(address: u64) -> Self {
        Self { address, may_be_of_host: false }
    }

    /// An address that may be either: the host's unless the machine knows it or keeps it for itself.
    ///
    /// # Safety
    /// If the address is the host's, the call is documented to copy from this memory, or to it.
    pub(super) unsafe fn any(address: u64) -> Self {
        Self { address, may_be_of_host: true }
    }

    /// Some bytes further, where the copy begins.
    pub(super) fn offset(self, bytes: usize) -> Self {
        Self { address: self.address.wrapping_add(bytes as u64), ..self }
    }

    /// The address, and whether it is the machine's memory.
    pub(super) fn resolve(self, driver: &Driver, bytes: u64, name: &'static str) -> Result<(u64, bool), Error> {
        let Self { address, may_be_of_host } = self;
        if may_be_of_host && address == 0 {
            return Err(Error::Null(name));
        }
        if may_be_of_host && driver.is_of_host(address, bytes) {
            return Ok((address, false));
        }
        driver.check(address, bytes)?;
        Ok((address, true))
    }
}

/// Copies `bytes` in the order of a stream; `waits` is whether the call returns after the copy in any case.
pub(super) fn copy(
    target: CopySide,
    source: CopySide,
    bytes: usize,
    stream: CUstream,
    waits: bool,
) -> Result<(), Error> {
    let (driver, stream) = Driver::stream(stream)?;
    if bytes == 0 {
        return Ok(());
    }
    let side = |(start, is_device)| Grid { start, is_device, row: bytes, slice: bytes };
    let target = side(target.resolve(driver, bytes as u64, "dst")?);
    let source = side(source.resolve(driver, bytes as u64, "src")?);
    // SAFETY: both sides were checked for so many bytes; the host's are the caller's to copy (the promise of `CopySide::any`).
    let transfer = unsafe { Transfer::new(target, source, [bytes, 1, 1]) };
    stream.copy(transfer, waits)
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuMemcpy(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Code {
    // SAFETY: the caller's promise.
    let (target, source) = unsafe { (CopySide::any(target), CopySide::any(source)) };
    answer(|| copy(target, source, bytes, 0, true))
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuMemcpyAsync(
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    // SAFETY: the caller's promise.
    let (target, source) = unsafe { (CopySide::any(target), CopySide::any(source)) };
    answer(|| copy(target, source, bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyHtoD_v2(target: CUdeviceptr, source: In<u8>, bytes: usize) -> Code {
    // SAFETY: the source's bytes are read.
    let source = unsafe { CopySide::any(source.address()) };
    answer(|| copy(CopySide::device(target), source, bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyHtoDAsync_v2(
    target: CUdeviceptr,
    source: In<u8>,
    bytes: usize,
    stream: CUstream,
) -> Code {
    // SAFETY: as above; the caller keeps them until the copy is done.
    let source = unsafe { CopySide::any(source.address()) };
    answer(|| copy(CopySide::device(target), source, bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyDtoH_v2(target: Out<c_void>, source: CUdeviceptr, bytes: usize) -> Code {
    // SAFETY: the target's bytes are written.
    let target = unsafe { CopySide::any(target.address()) };
    answer(|| copy(target, CopySide::device(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyDtoHAsync_v2(
    target: Out<c_void>,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    // SAFETY: as above; the caller keeps them until the copy is done.
    let target = unsafe { CopySide::any(target.address()) };
    answer(|| copy(target, CopySide::device(source), bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyDtoD_v2(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(CopySide::device(target), CopySide::device(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyDtoDAsync_v2(
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(CopySide::device(target), CopySide::device(source), bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyPeer(
    target: CUdeviceptr,
    _target_context: CUcontext,
    source: CUdeviceptr,
    _source_context: CUcontext,
    bytes: usize,
) -> Code {
    answer(|| copy(CopySide::device(target), CopySide::device(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyPeerAsync(
    target: CUdeviceptr,
    _target_context: CUcontext,
    source: CUdeviceptr,
    _source_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(CopySide::device(target), CopySide::device(source), bytes, stream, false))
}
