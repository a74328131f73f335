//! Device and managed memory: allocating, freeing, asking about it, advising on it.

use std::ffi::{c_int, c_uint};

use crate::abi::{CUdevice, CUdeviceptr, CUstream, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::memory::Kind;

/// Rows of pitched memory start at multiples of this many bytes, as on an H200.
const PITCH: usize = 512;

/// Allocates for the current context.
pub(crate) fn allocate(pointer: Out<CUdeviceptr>, bytes: usize, kind: Kind) -> Result<(), Error> {
    let (driver, context) = Driver::current()?;
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
            return Err(wrong(
                "flags",
                flags,
                "it must be CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST",
            ));
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
        if pointer == 0 {
            return Ok(());
        }
        driver.free(pointer, "device memory", |kind| {
            !matches!(kind, Kind::Host { .. } | Kind::Registered { .. } | Kind::Array)
        })
    })
}

pub(crate) extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> Code {
    answer(|| {
        let (driver, _) = Driver::current()?;
        let (free_bytes, total_bytes) = driver.machine.memory();
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

/// Refuses a range that is not managed memory.
fn check_managed(pointer: CUdeviceptr, bytes: usize) -> Result<(), Error> {
    let (driver, _) = Driver::current()?;
    let managed = driver
        .memory
        .holding(pointer)
        .is_some_and(|one| one.kind == Kind::Managed);
    if !managed {
        return Err(Error::NotAllocated {
            address: pointer,
            expected: "managed memory",
        });
    }
    driver.check(pointer, bytes as u64)
}

pub(crate) extern "C" fn cuMemPrefetchAsync(
    pointer: CUdeviceptr,
    bytes: usize,
    _device: CUdevice,
    stream: CUstream,
) -> Code {
    answer(|| prefetch(pointer, bytes, stream))
}

/// The location is a struct of two 32-bit numbers, which C passes as one 64-bit number.
pub(crate) extern "C" fn cuMemPrefetchAsync_v2(
    pointer: CUdeviceptr,
    bytes: usize,
    _location: u64,
    flags: c_uint,
    stream: CUstream,
) -> Code {
    answer(|| {
        if flags != 0 {
            return Err(wrong("flags", flags, "it must be 0"));
        }
        prefetch(pointer, bytes, stream)
    })
}

/// Host and device share their memory: there is nothing to move.
fn prefetch(pointer: CUdeviceptr, bytes: usize, stream: CUstream) -> Result<(), Error> {
    Driver::queue(stream)?;
    check_managed(pointer, bytes)
}

pub(crate) extern "C" fn cuMemAdvise(pointer: CUdeviceptr, bytes: usize, advice: c_int, _device: CUdevice) -> Code {
    answer(|| advise(pointer, bytes, advice))
}

/// The location is passed as in [`cuMemPrefetchAsync_v2`].
pub(crate) extern "C" fn cuMemAdvise_v2(pointer: CUdeviceptr, bytes: usize, advice: c_int, _location: u64) -> Code {
    answer(|| advise(pointer, bytes, advice))
}

fn advise(pointer: CUdeviceptr, bytes: usize, advice: c_int) -> Result<(), Error> {
    Driver::current()?;
    if !(1..=6).contains(&advice) {
        return Err(wrong("advice", advice, "there is no such advice"));
    }
    check_managed(pointer, bytes)
}
