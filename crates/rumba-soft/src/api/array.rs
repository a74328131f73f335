//! CUDA arrays: making them, asking about them, copying lines of bytes into and out of them. Rectangles and
//! boxes are copied in [`super::rectangle`].
//!
//! No mipmaps, no textures, no surfaces: a kernel cannot reach an array.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use super::memcpy::{CopySide, copy};
use crate::abi::{CUarray, CUdeviceptr, CUstream, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::array::{Array, Descriptor, layout};
use crate::soft::capture;
use crate::soft::driver::Driver;
use crate::soft::memory::Kind;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Flat {
    width: usize,
    height: usize,
    format: c_int,
    channels: c_uint,
}

pub(crate) extern "C" fn cuArrayCreate_v2(array: Out<CUarray>, descriptor: In<Flat>) -> Code {
    answer(|| {
        Driver::current()?;
        let flat = descriptor.get("pAllocateArray")?;
        create(
            array,
            Descriptor {
                width: flat.width,
                height: flat.height,
                depth: 0,
                format: flat.format,
                channels: flat.channels,
                flags: 0,
            },
        )
    })
}

pub(crate) extern "C" fn cuArray3DCreate_v2(array: Out<CUarray>, descriptor: In<Descriptor>) -> Code {
    answer(|| {
        Driver::current()?;
        create(array, descriptor.get("pAllocateArray")?)
    })
}

fn create(array: Out<CUarray>, descriptor: Descriptor) -> Result<(), Error> {
    let (driver, context) = Driver::current()?;
    capture::refuse_unsafe()?;
    array.required("pHandle")?;
    let [row, rows, slices] = layout(&descriptor)?;
    let start = driver.allocate(&context, (row * rows * slices) as u64, Kind::Array)?;
    let (handle, _) = driver.arrays.insert(|_| Array { context, descriptor, start, row, rows, slices });
    array.put("pHandle", handle)
}

/// A live array of a context in working order.
pub(super) fn array(handle: CUarray) -> Result<(&'static Driver, Arc<Array>), Error> {
    let (driver, _) = Driver::current()?;
    let array = driver.arrays.get(handle)?;
    array.context.usable()?;
    Ok((driver, array))
}

pub(crate) extern "C" fn cuArrayDestroy(handle: CUarray) -> Code {
    answer(|| {
        let (driver, _) = array(handle)?;
        capture::refuse_unsafe()?;
        let array = driver.arrays.remove(handle)?;
        driver.free(array.start, "a CUDA array", |kind| kind == Kind::Array)
    })
}

pub(crate) extern "C" fn cuArrayGetDescriptor_v2(descriptor: Out<Flat>, handle: CUarray) -> Code {
    answer(|| {
        let of = array(handle)?.1.descriptor;
        descriptor.put(
            "pArrayDescriptor",
            Flat { width: of.width, height: of.height, format: of.format, channels: of.channels },
        )
    })
}

pub(crate) extern "C" fn cuArray3DGetDescriptor_v2(descriptor: Out<Descriptor>, handle: CUarray) -> Code {
    answer(|| descriptor.put("pArrayDescriptor", array(handle)?.1.descriptor))
}

/// The `bytes` at `offset` in an array.
fn line(handle: CUarray, offset: usize, bytes: usize) -> Result<CopySide, Error> {
    let (_, array) = array(handle)?;
    let size = array.row * array.rows * array.slices;
    if offset > size || bytes > size - offset {
        return Err(wrong("ByteCount", bytes, "the bytes must lie in the array"));
    }
    Ok(CopySide::device(array.start + offset as u64))
}

pub(crate) extern "C" fn cuMemcpyHtoA_v2(target: CUarray, offset: usize, source: In<u8>, bytes: usize) -> Code {
    // SAFETY: the source's bytes are read.
    let source = unsafe { CopySide::any(source.address()) };
    answer(|| copy(line(target, offset, bytes)?, source, bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyHtoAAsync_v2(
    target: CUarray,
    offset: usize,
    source: In<u8>,
    bytes: usize,
    stream: CUstream,
) -> Code {
    // SAFETY: as above; the caller keeps them until the copy is done.
    let source = unsafe { CopySide::any(source.address()) };
    answer(|| copy(line(target, offset, bytes)?, source, bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyAtoH_v2(target: Out<c_void>, source: CUarray, offset: usize, bytes: usize) -> Code {
    // SAFETY: the target's bytes are written.
    let target = unsafe { CopySide::any(target.address()) };
    answer(|| copy(target, line(source, offset, bytes)?, bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyAtoHAsync_v2(
    target: Out<c_void>,
    source: CUarray,
    offset: usize,
    bytes: usize,
    stream: CUstream,
) -> Code {
    // SAFETY: as above; the caller keeps them until the copy is done.
    let target = unsafe { CopySide::any(target.address()) };
    answer(|| copy(target, line(source, offset, bytes)?, bytes, stream, false))
}

pub(crate) extern "C" fn cuMemcpyDtoA_v2(target: CUarray, offset: usize, source: CUdeviceptr, bytes: usize) -> Code {
    answer(|| copy(line(target, offset, bytes)?, CopySide::device(source), bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyAtoD_v2(target: CUdeviceptr, source: CUarray, offset: usize, bytes: usize) -> Code {
    answer(|| copy(CopySide::device(target), line(source, offset, bytes)?, bytes, 0, true))
}

pub(crate) extern "C" fn cuMemcpyAtoA_v2(
    target: CUarray,
    target_offset: usize,
    source: CUarray,
    source_offset: usize,
    bytes: usize,
) -> Code {
    answer(|| {
        let target = line(target, target_offset, bytes)?;
        copy(target, line(source, source_offset, bytes)?, bytes, 0, true)
    })
}
