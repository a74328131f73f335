//! Page-locked host memory. It is device memory too, under the same address.

use std::ffi::{c_int, c_uint};

use crate::abi::{CUdeviceptr, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture;
use crate::soft::context::current_handle;
use crate::soft::driver::Driver;
use crate::soft::memory::Kind;

/// `CU_MEMHOSTALLOC_DEVICEMAP`, which all of this memory is.
const DEVICE_MAP: c_uint = 2;

pub(crate) extern "C" fn cuMemAllocHost_v2(pointer: Out<u64>, bytes: usize) -> Code {
    answer(|| allocate(pointer, bytes, 0))
}

pub(crate) extern "C" fn cuMemHostAlloc(pointer: Out<u64>, bytes: usize, flags: c_uint) -> Code {
    answer(|| {
        Driver::current()?;
        if flags > 7 {
            return Err(wrong("Flags", format!("{flags:#x}"), "it has unknown bits"));
        }
        allocate(pointer, bytes, flags)
    })
}

fn allocate(pointer: Out<u64>, bytes: usize, flags: c_uint) -> Result<(), Error> {
    let (driver, context) = Driver::current()?;
    capture::refuse_unsafe()?;
    pointer.required("pp")?;
    let start = match bytes {
        0 => 0,
        _ => driver.allocate(&context, bytes as u64, Kind::Host { flags: flags | DEVICE_MAP })?,
    };
    pointer.put("pp", start)
}

pub(crate) extern "C" fn cuMemFreeHost(pointer: u64) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        if let Some(handle) = current_handle()? {
            driver.context(handle)?.usable()?;
        }
        if pointer == 0 {
            return Ok(());
        }
        driver.free(pointer, "page-locked host memory", |kind| matches!(kind, Kind::Host { .. }))
    })
}

/// The flags of page-locked memory that holds `pointer`.
fn flags_of(driver: &Driver, pointer: u64) -> Result<c_uint, Error> {
    match driver.memory.holding(pointer).map(|allocation| allocation.kind) {
        Some(Kind::Host { flags } | Kind::Registered { flags }) => Ok(flags),
        _ => Err(Error::NotAllocated { address: pointer, expected: "page-locked host memory" }),
    }
}

pub(crate) extern "C" fn cuMemHostGetDevicePointer_v2(device: Out<CUdeviceptr>, pointer: u64, flags: c_uint) -> Code {
    answer(|| {
        let (driver, _) = Driver::current()?;
        if flags != 0 {
            return Err(wrong("Flags", flags, "it must be 0"));
        }
        flags_of(driver, pointer)?;
        device.put("pdptr", pointer)
    })
}

pub(crate) extern "C" fn cuMemHostGetFlags(flags: Out<c_uint>, pointer: u64) -> Code {
    answer(|| {
        let (driver, _) = Driver::current()?;
        flags.put("pFlags", flags_of(driver, pointer)?)
    })
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuMemHostRegister_v2(pointer: u64, bytes: usize, flags: c_uint) -> Code {
    answer(|| {
        let (driver, context) = Driver::current()?;
        if pointer == 0 {
            return Err(Error::Null("p"));
        }
        if bytes == 0 {
            return Err(wrong("bytesize", bytes, "there must be at least one byte"));
        }
        if flags > 15 {
            return Err(wrong("Flags", format!("{flags:#x}"), "it has unknown bits"));
        }
        // SAFETY: the caller's promise, until `cuMemHostUnregister`.
        unsafe { driver.register(&context, pointer, bytes as u64, flags | DEVICE_MAP) }
    })
}

pub(crate) extern "C" fn cuMemHostUnregister(pointer: u64) -> Code {
    answer(|| {
        let (driver, _) = Driver::current()?;
        if pointer == 0 {
            return Err(Error::Null("p"));
        }
        match driver.memory.holding(pointer) {
            Some(one) if matches!(one.kind, Kind::Registered { .. }) => {
                driver.free(pointer, "a registered range", |kind| matches!(kind, Kind::Registered { .. }))
            }
            _ => Err(Error::NotRegistered(pointer)),
        }
    })
}

/// Attaching managed memory to a stream has no effect where host and device share it.
pub(crate) extern "C" fn cuStreamAttachMemAsync(
    stream: usize,
    pointer: CUdeviceptr,
    _bytes: usize,
    flags: c_int,
) -> Code {
    answer(|| {
        let (driver, _) = Driver::stream(stream)?;
        let managed = driver.memory.holding(pointer).is_some_and(|one| one.kind == Kind::Managed);
        if !managed {
            return Err(Error::NotAllocated { address: pointer, expected: "managed memory" });
        }
        if matches!(flags, 1 | 2 | 4) { Ok(()) } else { Err(wrong("flags", flags, "it must be 1, 2 or 4")) }
    })
}
