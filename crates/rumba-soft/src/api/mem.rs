//! Device and managed memory: allocating, freeing, asking about it, advising on it.

use std::ffi::{c_int, c_uint};

use crate::abi::{CUdevice, CUdeviceptr, CUstream, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture;
use crate::soft::driver::Driver;
use crate::soft::graph_memory;
use crate::soft::memory::{Allocation, Kind};

/// Rows of pitched memory start at multiples of this many bytes, as on an H200.
const PITCH: usize = 512;

/// Allocates for the current context.
pub(crate) fn allocate(pointer: Out<CUdeviceptr>, bytes: usize, kind: Kind) -> Result<(), Error> {
    let (driver, context) = Driver::current()?;
    capture::refuse_unsafe()?;
    pointer.required("dptr")?;
    if bytes == 0 {
        return Err(wrong("bytesize", bytes, "an allocation has at least one byte"));
    }
    pointer.put("dptr", driver.allocate(&context, bytes as u64, kind)?)
}

pub(crate) extern "C" fn cuMemAlloc_v2(pointer: Out<CUdeviceptr>, bytes: usize) -> Code {
    answer(|| allocate(pointer, bytes, Kind::Device))
}

pub(crate) extern "C" fn cuMemAllocManaged(pointer: Out<CUdeviceptr>, bytes: usize, flags: c_uint) -> Code {
    answer(|| {
        Driver::current()?;
        if flags != 1 && flags != 2 {
            return Err(wrong("flags", flags, "it must be CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST"));
        }
        allocate(pointer, bytes, Kind::Managed)
    })
}

pub(crate) extern "C" fn cuMemAllocPitch_v2(
    pointer: Out<CUdeviceptr>,
    pitch: Out<usize>,
    width: usize,
    height: usize,
    element: c_uint,
) -> Code {
    answer(|| {
        Driver::current()?;
        pitch.required("pPitch")?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(wrong("ElementSizeBytes", element, "it must be 4, 8 or 16"));
        }
        let row = width.checked_next_multiple_of(PITCH);
        let bytes = row.and_then(|row| row.checked_mul(height)).unwrap_or(usize::MAX);
        allocate(pointer, bytes, Kind::Device)?;
        pitch.put("pPitch", row.unwrap_or(0))
    })
}

pub(crate) extern "C" fn cuMemFree_v2(pointer: CUdeviceptr) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        if let Some(handle) = crate::soft::context::current_handle()? {
            driver.context(handle)?.usable()?;
        }
        if pointer == 0 || graph_memory::free(pointer)? {
            return Ok(());
        }
        driver.free(pointer, "device memory", |kind| {
            !matches!(kind, Kind::Host { .. } | Kind::Registered { .. } | Kind::Array | Kind::Mapped)
        })
    })
}

pub(crate) extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Code {
    answer(|| {
        let (driver, _) = Driver::current()?;
        let (free_bytes, total_bytes) = driver.memory_info();
        free.put_if(free_bytes as usize);
        total.put_if(total_bytes as usize);
        Ok(())
    })
}

pub(crate) extern "C" fn cuMemGetAddressRange_v2(
    start: Out<CUdeviceptr>,
    bytes: Out<usize>,
    pointer: CUdeviceptr,
) -> Code {
    answer(|| {
        let (driver, _) = Driver::current()?;
        let allocation = driver.memory.holding(pointer).ok_or(Error::NoAllocation(pointer))?;
        start.put_if(allocation.start);
        bytes.put_if(allocation.bytes as usize);
        Ok(())
    })
}

/// The managed memory that holds a range.
fn managed(pointer: CUdeviceptr, bytes: usize) -> Result<(&'static Driver, Allocation), Error> {
    let (driver, _) = Driver::current()?;
    let allocation = driver.memory.holding(pointer).filter(|one| one.kind == Kind::Managed);
    let allocation = allocation.ok_or(Error::NotAllocated { address: pointer, expected: "managed memory" })?;
    driver.check(pointer, bytes as u64)?;
    Ok((driver, allocation))
}

/// The ordinal of the host among devices, `CU_DEVICE_CPU`.
const HOST: CUdevice = -1;

/// The ordinal that a `CUmemLocation` means. C passes that struct of two 32-bit numbers, a type and an ordinal, as one
/// 64-bit number.
fn ordinal(location: u64) -> Result<CUdevice, Error> {
    match (location as u32, (location >> 32) as i32) {
        (1, device) => Ok(device),
        (2..=4, _) => Ok(HOST),
        (other, _) => Err(wrong("location.type", other, "there is no such location")),
    }
}

pub(crate) extern "C" fn cuMemPrefetchAsync(
    pointer: CUdeviceptr,
    bytes: usize,
    device: CUdevice,
    stream: CUstream,
) -> Code {
    answer(|| prefetch(pointer, bytes, device, stream))
}

pub(crate) extern "C" fn cuMemPrefetchAsync_v2(
    pointer: CUdeviceptr,
    bytes: usize,
    location: u64,
    flags: c_uint,
    stream: CUstream,
) -> Code {
    answer(|| {
        if flags != 0 {
            return Err(wrong("flags", flags, "it must be 0"));
        }
        prefetch(pointer, bytes, ordinal(location)?, stream)
    })
}

/// Host and device share their memory: there is nothing to move.
fn prefetch(pointer: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream) -> Result<(), Error> {
    Driver::stream(stream)?;
    let (driver, allocation) = managed(pointer, bytes)?;
    if device != HOST {
        Driver::device(device)?;
    }
    driver.advice.change(&allocation, |advice| advice.prefetched = device);
    Ok(())
}

pub(crate) extern "C" fn cuMemAdvise(pointer: CUdeviceptr, bytes: usize, advice: c_int, device: CUdevice) -> Code {
    answer(|| advise(pointer, bytes, advice, device))
}

pub(crate) extern "C" fn cuMemAdvise_v2(pointer: CUdeviceptr, bytes: usize, advice: c_int, location: u64) -> Code {
    answer(|| {
        // Advice on reading names no place.
        let device = if advice <= 2 { HOST } else { ordinal(location)? };
        advise(pointer, bytes, advice, device)
    })
}

fn advise(pointer: CUdeviceptr, bytes: usize, number: c_int, device: CUdevice) -> Result<(), Error> {
    Driver::current()?;
    if !(1..=6).contains(&number) {
        return Err(wrong("advice", number, "there is no such advice"));
    }
    let (driver, allocation) = managed(pointer, bytes)?;
    if matches!(number, 3 | 5 | 6) && device != HOST {
        Driver::device(device)?;
    }
    driver.advice.change(&allocation, |advice| match number {
        1 => advice.read_mostly = true,
        2 => advice.read_mostly = false,
        3 => advice.preferred = device,
        4 => advice.preferred = -2,
        5 if !advice.accessed_by.contains(&device) => advice.accessed_by.push(device),
        6 => advice.accessed_by.retain(|known| *known != device),
        _ => {}
    });
    Ok(())
}
