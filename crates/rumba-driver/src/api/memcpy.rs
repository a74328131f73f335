//! Copies between host and device memory. Arrays are not served.
//!
//! A copy is done when the call returns, also where its name says `Async`.

use std::ffi::c_void;

use crate::abi::{CUarray, CUcontext, CUdeviceptr, CUstream, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;

/// Where one side of a copy is.
#[derive(Clone, Copy)]
enum Place {
    /// Memory that the machine knows; refused where it does not.
    Device(u64),
    /// An address that may be either; what the machine does not know is the host's.
    Any(u64),
}

impl Place {
    /// The address, and whether it is the machine's memory.
    fn resolve(self, driver: &Driver, bytes: u64, name: &'static str) -> Result<(u64, bool), Error> {
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
fn copy(target: Place, source: Place, bytes: usize, stream: CUstream) -> Result<(), Error> {
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
fn transfer(driver: &Driver, target: (u64, bool), source: (u64, bool), bytes: usize) -> Result<(), Error> {
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

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Copy2d {
    source: Side,
    target: Side,
    width: usize,
    height: usize,
}

/// One side of a 2-D copy.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side {
    x: usize,
    y: usize,
    memory: u32,
    host: u64,
    device: CUdeviceptr,
    array: CUarray,
    pitch: usize,
}

impl Side {
    /// The first byte of the rectangle and the distance of its rows.
    fn start(&self, width: usize) -> Result<(Place, usize), Error> {
        let pitch = if self.pitch == 0 { width } else { self.pitch };
        if self.x.checked_add(width).is_none_or(|end| end > pitch) {
            return Err(wrong("pitch", pitch, "a row with its offset must fit into the pitch"));
        }
        let offset = self.y.checked_mul(pitch).and_then(|rows| rows.checked_add(self.x));
        let offset = offset.ok_or_else(|| wrong("y", self.y, "the offset exceeds the address space"))? as u64;
        let place = match self.memory {
            1 => Place::Any(self.host.wrapping_add(offset)),
            2 => Place::Device(self.device.wrapping_add(offset)),
            4 => Place::Any(self.device.wrapping_add(offset)),
            3 => return Err(Error::Unserved { what: "copying arrays" }),
            other => return Err(wrong("memoryType", other, "there is no such memory type")),
        };
        Ok((place, pitch))
    }
}

pub(crate) extern "C" fn cuMemcpy2D_v2(copy: In<Copy2d>) -> Code {
    answer(|| copy_2d(copy, 0))
}

pub(crate) extern "C" fn cuMemcpy2DAsync_v2(copy: In<Copy2d>, stream: CUstream) -> Code {
    answer(|| copy_2d(copy, stream))
}

fn copy_2d(copy: In<Copy2d>, stream: CUstream) -> Result<(), Error> {
    let (driver, queue) = Driver::queue(stream)?;
    let copy = copy.get("pCopy", 0)?;
    if copy.width == 0 || copy.height == 0 {
        return Ok(());
    }
    let (target, target_pitch) = copy.target.start(copy.width)?;
    let (source, source_pitch) = copy.source.start(copy.width)?;
    let span = |pitch: usize| {
        let rows = (copy.height - 1)
            .checked_mul(pitch)
            .and_then(|rows| rows.checked_add(copy.width));
        rows.map(|bytes| bytes as u64)
            .ok_or_else(|| wrong("Height", copy.height, "the rectangle exceeds the address space"))
    };
    let target = target.resolve(driver, span(target_pitch)?, "dst")?;
    let source = source.resolve(driver, span(source_pitch)?, "src")?;
    let _turn = queue.enter();
    for row in 0..copy.height {
        let target = (target.0 + (row * target_pitch) as u64, target.1);
        let source = (source.0 + (row * source_pitch) as u64, source.1);
        transfer(driver, target, source, copy.width)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_2d_has_the_layout_of_cuda_h() {
        assert_eq!(size_of::<Copy2d>(), 128);
        assert_eq!(std::mem::offset_of!(Copy2d, target), 56);
        assert_eq!(std::mem::offset_of!(Copy2d, width), 112);
        assert_eq!(std::mem::offset_of!(Side, pitch), 48);
    }
}
