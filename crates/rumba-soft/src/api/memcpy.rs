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
pub(super) enum Place {
    /// Memory that the machine knows; refused where it does not.
    Device(u64),
    /// An address that may be either: the host's unless the machine knows it or keeps it for itself.
    Any(u64),
}

impl Place {
    /// The address, and whether it is the machine's memory.
    pub(super) fn resolve(self, driver: &Driver, bytes: u64, name: &'static str) -> Result<(u64, bool), Error> {
        match self {
            Self::Device(address) => {
                driver.check(address, bytes)?;
                Ok((address, true))
            }
            Self::Any(0) => Err(Error::Null(name)),
            Self::Any(address) if driver.is_of_host(address, bytes) => Ok((address, false)),
            Self::Any(address) => {
                driver.check(address, bytes)?;
                Ok((address, true))
            }
        }
    }
}

/// Copies `bytes` in the order of a stream; `waits` is whether the call returns after the copy in any case.
pub(super) fn copy(target: Place, source: Place, bytes: usize, stream: CUstream, waits: bool) -> Result<(), Error> {
    let (driver, queue) = Driver::queue(stream)?;
    if bytes == 0 {
        return Ok(());
    }
    let side = |(start, is_device)| Grid {
        start,
        is_device,
        row: bytes,
        slice: bytes,
    };
    let target = side(target.resolve(driver, bytes as u64, "dst")?);
    let source = side(source.resolve(driver, bytes as u64, "src")?);
    let transfer = Transfer {
        target,
        source,
        width: bytes,
        height: 1,
        depth: 1,
        staged: None,
    };
    queue.copy(transfer, waits)
}

pub(crate) extern "C" fn cuMemcpy(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(Place::Any(target), Place::Any(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyAsync(
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Any(target), Place::Any(source), bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyHtoD_v2(target: CUdeviceptr, source: In<u8>, bytes: usize) -> Code {
    answer(|| copy(Place::Device(target), Place::Any(source.address()), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyHtoDAsync_v2(
    target: CUdeviceptr,
    source: In<u8>,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| {
        copy(
            Place::Device(target),
            Place::Any(source.address()),
            bytes,
            stream,
            false,
        )
    })
}

pub(crate) extern "C" fn cuMemcpyDtoH_v2(target: Out<c_void>, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(Place::Any(target.address()), Place::Device(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyDtoHAsync_v2(
    target: Out<c_void>,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| {
        copy(
            Place::Any(target.address()),
            Place::Device(source),
            bytes,
            stream,
            false,
        )
    })
}

pub(crate) extern "C" fn cuMemcpyDtoD_v2(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyDtoDAsync_v2(
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyPeer(
    target: CUdeviceptr,
    _target_context: CUcontext,
    source: CUdeviceptr,
    _source_context: CUcontext,
    bytes: usize,
) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyPeerAsync(
    target: CUdeviceptr,
    _target_context: CUcontext,
    source: CUdeviceptr,
    _source_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, stream, false))
}
