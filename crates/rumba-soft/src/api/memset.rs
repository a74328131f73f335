//! Filling device memory.

use std::ffi::{c_uchar, c_uint, c_ushort};

use crate::abi::{CUdeviceptr, CUstream, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::work::{Fill, Work};

/// Stores `width` elements in each of `height` rows that are `pitch` bytes apart, in the order of a stream. No form of the
/// call waits for that.
fn fill(
    target: CUdeviceptr,
    pitch: usize,
    element: &[u8],
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result<(), Error> {
    let (driver, stream) = Driver::stream(stream)?;
    let value = element.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
    let fill = Fill { target, pitch, value, element: element.len(), width, height };
    if !check(driver, &fill)? {
        return Ok(());
    }
    stream.submit(Work::Fill(fill)).map(drop)
}

/// Refuses a fill that leaves its memory; gives whether there is anything to fill.
pub(super) fn check(driver: &Driver, fill: &Fill) -> Result<bool, Error> {
    let Fill { target, pitch, element, width, height, .. } = *fill;
    if width == 0 || height == 0 {
        return Ok(false);
    }
    if !target.is_multiple_of(element as u64) {
        return Err(wrong("dstDevice", format!("{target:#x}"), "it must be aligned to an element"));
    }
    let too_large = || wrong("N", width, "the elements exceed the address space");
    let row = width.checked_mul(element).ok_or_else(too_large)?;
    if height > 1 && (pitch < row || !pitch.is_multiple_of(element)) {
        return Err(wrong("dstPitch", pitch, "a row must fit into it, and it must be a multiple of an element"));
    }
    let span = (height - 1).checked_mul(pitch).and_then(|rows| rows.checked_add(row)).ok_or_else(too_large)?;
    driver.check(target, span as u64)?;
    Ok(true)
}

pub(crate) extern "C" fn cuMemsetD8_v2(target: CUdeviceptr, value: c_uchar, count: usize) -> Code {
    answer(|| fill(target, 0, &value.to_ne_bytes(), count, 1, 0))
}

pub(crate) extern "C" fn cuMemsetD16_v2(target: CUdeviceptr, value: c_ushort, count: usize) -> Code {
    answer(|| fill(target, 0, &value.to_ne_bytes(), count, 1, 0))
}

pub(crate) extern "C" fn cuMemsetD32_v2(target: CUdeviceptr, value: c_uint, count: usize) -> Code {
    answer(|| fill(target, 0, &value.to_ne_bytes(), count, 1, 0))
}

pub(crate) extern "C" fn cuMemsetD8Async(target: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) -> Code {
    answer(|| fill(target, 0, &value.to_ne_bytes(), count, 1, stream))
}

pub(crate) extern "C" fn cuMemsetD16Async(
    target: CUdeviceptr,
    value: c_ushort,
    count: usize,
    stream: CUstream,
) -> Code {
    answer(|| fill(target, 0, &value.to_ne_bytes(), count, 1, stream))
}

pub(crate) extern "C" fn cuMemsetD32Async(target: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) -> Code {
    answer(|| fill(target, 0, &value.to_ne_bytes(), count, 1, stream))
}

pub(crate) extern "C" fn cuMemsetD2D8_v2(
    target: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
) -> Code {
    answer(|| fill(target, pitch, &value.to_ne_bytes(), width, height, 0))
}

pub(crate) extern "C" fn cuMemsetD2D16_v2(
    target: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
) -> Code {
    answer(|| fill(target, pitch, &value.to_ne_bytes(), width, height, 0))
}

pub(crate) extern "C" fn cuMemsetD2D32_v2(
    target: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
) -> Code {
    answer(|| fill(target, pitch, &value.to_ne_bytes(), width, height, 0))
}

pub(crate) extern "C" fn cuMemsetD2D8Async(
    target: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Code {
    answer(|| fill(target, pitch, &value.to_ne_bytes(), width, height, stream))
}

pub(crate) extern "C" fn cuMemsetD2D16Async(
    target: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Code {
    answer(|| fill(target, pitch, &value.to_ne_bytes(), width, height, stream))
}

pub(crate) extern "C" fn cuMemsetD2D32Async(
    target: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Code {
    answer(|| fill(target, pitch, &value.to_ne_bytes(), width, height, stream))
}
