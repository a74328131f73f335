//! Copies of lines of bytes between host and device memory. Rectangles and boxes are copied in
//! [`super::rectangle`], arrays in [`super::array`].
//!
//! A copy is done when the call returns, also where its name says `Async`.

use std::ffi::c_void;

use crate::abi::{CUcontext, CUdeviceptr, CUstream, In, Out, answer};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;

/// Where one side of a copy is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Memory that the machine knows; refused where it does not.
    Device(u64),
    /// An address that may be either; what the machine does not know is the host's.
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
            Self::Any(address) if driver.knows(address) => {
                driver.check(address, bytes)?;
                Ok((address, true))
            }
            Self::Any(address) => Ok((address, false)),
        }
    }
}

/// Copies `bytes` in the order of a stream.
pub(super) fn copy(target: Place, source: Place, bytes: usize, stream: CUstream) -> Result<(), Error> {
    let (driver, queue) = Driver::queue(stream)?;
    if bytes == 0 {
        return Ok(());
    }
    let target = target.resolve(driver, bytes as u64, "dst")?;
    let source = source.resolve(driver, bytes as u64, "src")?;
    let _turn = queue.enter();
    transfer(driver, target, source, bytes)
}

/// Moves bytes between two places that were checked.
pub(super) fn transfer(driver: &Driver, target: (u64, bool), source: (u64, bool), bytes: usize) -> Result<(), Error> {
    match (target, source) {
        ((target, true), (source, true)) => driver.machine.copy(target, source, bytes as u64),
        ((target, true), (source, false)) => {
            // SAFETY: the caller gave this host address to read `bytes` from; it is not the machine's memory.
            let source = unsafe { std::slice::from_raw_parts(source as *const u8, bytes) };
            driver.machine.write(target, source)
        }
        ((target, false), (source, true)) => {
            // SAFETY: the caller gave this host address to write `bytes` to; it is not the machine's memory.
            let target = unsafe { std::slice::from_raw_parts_mut(target as *mut u8, bytes) };
            driver.machine.read(source, target)
        }
        ((target, false), (source, false)) => {
            // SAFETY: the caller gave both host addresses for this; they may overlap.
            unsafe { std::ptr::copy(source as *const u8, target as *mut u8, bytes) };
            Ok(())
        }
    }
}

pub(crate) extern "C" fn cuMemcpy(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(Place::Any(target), Place::Any(source), bytes, 0))
}

pub(crate) extern "C" fn cuMemcpyAsync(
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Any(target), Place::Any(source), bytes, stream))
}

pub(crate) extern "C" fn cuMemcpyHtoD_v2(target: CUdeviceptr, source: In<u8>, bytes: usize) -> Code {
    answer(|| copy(Place::Device(target), Place::Any(source.address()), bytes, 0))
}

pub(crate) extern "C" fn cuMemcpyHtoDAsync_v2(
    target: CUdeviceptr,
    source: In<u8>,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Device(target), Place::Any(source.address()), bytes, stream))
}

pub(crate) extern "C" fn cuMemcpyDtoH_v2(target: Out<c_void>, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(Place::Any(target.address()), Place::Device(source), bytes, 0))
}

pub(crate) extern "C" fn cuMemcpyDtoHAsync_v2(
    target: Out<c_void>,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Any(target.address()), Place::Device(source), bytes, stream))
}

pub(crate) extern "C" fn cuMemcpyDtoD_v2(target: CUdeviceptr, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, 0))
}

pub(crate) extern "C" fn cuMemcpyDtoDAsync_v2(
    target: CUdeviceptr,
    source: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, stream))
}

pub(crate) extern "C" fn cuMemcpyPeer(
    target: CUdeviceptr,
    _target_context: CUcontext,
    source: CUdeviceptr,
    _source_context: CUcontext,
    bytes: usize,
) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, 0))
}

pub(crate) extern "C" fn cuMemcpyPeerAsync(
    target: CUdeviceptr,
    _target_context: CUcontext,
    source: CUdeviceptr,
    _source_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Code {
    answer(|| copy(Place::Device(target), Place::Device(source), bytes, stream))
}
