//! Virtual memory: reserving addresses, making memory, mapping one to the other, setting access.
//!
//! Memory is not shared with other processes, compressed, or multicast.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use crate::abi::{CUdeviceptr, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::memory::Kind;
use crate::soft::queue;
use crate::soft::vmm::{GRANULARITY, Physical};

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    kind: c_int,
    id: c_int,
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: c_int = 1;

/// `CUmemAllocationProp`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Properties {
    kind: c_int,
    handle_types: c_int,
    location: Location,
    metadata: u64,
    flags: u64,
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Access {
    location: Location,
    flags: c_int,
}

impl Properties {
    fn check(&self) -> Result<(), Error> {
        /// `CU_MEM_ALLOCATION_TYPE_PINNED`.
        const PINNED: c_int = 1;
        if self.kind != PINNED {
            return Err(wrong("prop.type", self.kind, "it must be CU_MEM_ALLOCATION_TYPE_PINNED"));
        }
        if self.handle_types != 0 {
            return Err(Error::Unserved { what: "memory to be shared with other processes" });
        }
        if self.location.kind != DEVICE {
            return Err(wrong("prop.location", self.location.kind, "it must be a device"));
        }
        Driver::device(self.location.id).map(drop)
    }
}

/// Refuses sizes and places that are not whole units.
fn check_units(name: &'static str, value: u64) -> Result<(), Error> {
    if value != 0 && value.is_multiple_of(GRANULARITY) {
        Ok(())
    } else {
        Err(wrong(name, value, "it must be a multiple of 2 MiB, and not 0"))
    }
}

fn system(cause: std::io::Error) -> Error {
    Error::System(cause.to_string())
}

pub(crate) extern "C" fn cuMemGetAllocationGranularity(
    granularity: Out<usize>,
    properties: In<Properties>,
    option: c_int,
) -> Code {
    answer(|| {
        Driver::get()?;
        granularity.required("granularity")?;
        properties.get("prop")?.check()?;
        if !(0..=1).contains(&option) {
            return Err(wrong("option", option, "it must be 0 or 1"));
        }
        granularity.put("granularity", GRANULARITY as usize)
    })
}

pub(crate) extern "C" fn cuMemAddressReserve(
    pointer: Out<CUdeviceptr>,
    bytes: usize,
    alignment: usize,
    _wish: CUdeviceptr,
    flags: u64,
) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        pointer.required("ptr")?;
        check_units("size", bytes as u64)?;
        if flags != 0 || alignment != 0 && !alignment.is_power_of_two() {
            return Err(wrong("alignment", alignment, "it must be a power of two, and flags must be 0"));
        }
        let alignment = (alignment as u64).max(GRANULARITY);
        let start = driver.addresses.lock().reserve(bytes as u64, alignment);
        pointer.put("ptr", start.map_err(system)?)
    })
}

pub(crate) extern "C" fn cuMemAddressFree(pointer: CUdeviceptr, bytes: usize) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        if driver.addresses.lock().release(pointer, bytes as u64) {
            Ok(())
        } else {
            Err(Error::NotAllocated { address: pointer, expected: "a reservation of that size without mappings" })
        }
    })
}

pub(crate) extern "C" fn cuMemCreate(handle: Out<u64>, bytes: usize, properties: In<Properties>, flags: u64) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        handle.required("handle")?;
        let properties = properties.get("prop")?;
        properties.check()?;
        check_units("size", bytes as u64)?;
        if flags != 0 {
            return Err(wrong("flags", flags, "it must be 0"));
        }
        let (free, _) = driver.memory_info();
        if bytes as u64 > free {
            return Err(Error::OutOfMemory { asked: bytes as u64, free });
        }
        let memory = Physical::new(bytes as u64, properties.location.id).map_err(system)?;
        handle.put("handle", driver.physical.insert(|_| memory).0 as u64)
    })
}

pub(crate) extern "C" fn cuMemRelease(handle: u64) -> Code {
    answer(|| memory_of(handle)?.0.physical.remove(handle as usize).map(drop))
}

/// The memory behind a handle.
fn memory_of(handle: u64) -> Result<(&'static Driver, Arc<Physical>), Error> {
    let driver = Driver::get()?;
    let unknown = |_| wrong("handle", format!("{handle:#x}"), "it is no memory");
    Ok((driver, driver.physical.get(handle as usize).map_err(unknown)?))
}

pub(crate) extern "C" fn cuMemMap(pointer: CUdeviceptr, bytes: usize, offset: usize, handle: u64, flags: u64) -> Code {
    answer(|| {
        let (driver, memory) = memory_of(handle)?;
        let size = bytes as u64;
        check_units("size", size)?;
        if flags != 0 {
            return Err(wrong("flags", flags, "it must be 0"));
        }
        if offset != 0 || size > memory.bytes {
            return Err(Error::Unserved { what: "a mapping of other bytes than the first ones of the memory" });
        }
        let mut addresses = driver.addresses.lock();
        if pointer.is_multiple_of(GRANULARITY) && addresses.map(pointer, size, memory).map_err(system)? {
            return Ok(());
        }
        Err(Error::NotAllocated { address: pointer, expected: "a reserved range without mappings" })
    })
}

/// Refuses a range that is not made up of whole mappings.
fn not_mapped(address: u64) -> Error {
    Error::NotAllocated { address, expected: "a range of whole mappings" }
}

pub(crate) extern "C" fn cuMemUnmap(pointer: CUdeviceptr, bytes: usize) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        let addresses = driver.addresses.lock();
        if addresses.is_free(pointer, bytes as u64) {
            return Ok(());
        }
        if !addresses.is_mapped(pointer, bytes as u64) {
            return Err(not_mapped(pointer));
        }
        drop(addresses);
        // Work that was enqueued before the call may use the mapping.
        if let Ok((_, context)) = Driver::current() {
            context.finish();
        }
        if !driver.addresses.lock().begin_unmap(pointer, bytes as u64) {
            return Err(not_mapped(pointer));
        }
        driver.hide(pointer, bytes as u64);
        queue::wait_for_running_work();
        driver.addresses.lock().unmap(pointer, bytes as u64).map_err(system)
    })
}

pub(crate) extern "C" fn cuMemSetAccess(pointer: CUdeviceptr, bytes: usize, access: In<Access>, count: usize) -> Code {
    answer(|| {
        /// `CU_MEM_ACCESS_FLAGS_PROT_NONE` and `…_READWRITE`.
        const NONE: c_int = 0;
        const ALL: c_int = 3;
        let driver = Driver::get()?;
        if count == 0 {
            return Err(wrong("count", count, "there must be an access"));
        }
        for index in 0..count {
            // SAFETY: there are `count` descriptions.
            let access = unsafe { access.element("desc", index) }?;
            if access.location.kind != DEVICE || !matches!(access.flags, NONE | 1 | ALL) {
                return Err(wrong("desc.flags", access.flags, "it must be 0, 1 or 3, for a device"));
            }
            Driver::device(access.location.id)?;
            let mut addresses = driver.addresses.lock();
            if !addresses.is_mapped(pointer, bytes as u64) {
                return Err(not_mapped(pointer));
            }
            for (_, mapping) in addresses.mapped.range_mut(pointer..pointer + bytes as u64) {
                mapping.access = access.flags as u64;
            }
            driver.hide(pointer, bytes as u64);
            if access.flags != NONE {
                // SAFETY: whole mappings make up the range. The lock on the addresses keeps `cuMemUnmap` out, which hides the
                // range before it ends them.
                unsafe { driver.show(pointer, bytes as u64) };
            }
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuMemGetAccess(flags: Out<u64>, location: In<Location>, pointer: CUdeviceptr) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        flags.required("flags")?;
        Driver::device(location.get("location")?.id)?;
        let addresses = driver.addresses.lock();
        let mapping = addresses.mapped.range(..=pointer).next_back();
        match mapping.filter(|(start, mapping)| pointer < **start + mapping.bytes) {
            Some((_, mapping)) => flags.put("flags", mapping.access),
            None => Err(not_mapped(pointer)),
        }
    })
}

pub(crate) extern "C" fn cuMemGetAllocationPropertiesFromHandle(properties: Out<Properties>, handle: u64) -> Code {
    answer(|| {
        let (_, memory) = memory_of(handle)?;
        properties.put(
            "prop",
            Properties {
                kind: 1,
                handle_types: 0,
                location: Location { kind: DEVICE, id: memory.device },
                metadata: 0,
                flags: 0,
            },
        )
    })
}

pub(crate) extern "C" fn cuMemRetainAllocationHandle(handle: Out<u64>, pointer: In<c_void>) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        handle.required("handle")?;
        let address = pointer.address();
        let addresses = driver.addresses.lock();
        let mapping = addresses.mapped.range(..=address).next_back();
        match mapping.filter(|(start, mapping)| address < **start + mapping.bytes) {
            // Another name for the same memory, to be released on its own.
            Some((_, mapping)) => {
                let memory = Arc::clone(&mapping.memory);
                handle.put("handle", driver.physical.insert_shared(memory) as u64)
            }
            None => Err(not_mapped(address)),
        }
    })
}

/// `CU_MEM_RANGE_ATTRIBUTE_…` of managed memory, in 32-bit words: what was advised, although host and device share it.
fn range_attribute(
    driver: &Driver,
    number: c_int,
    bytes: usize,
    pointer: CUdeviceptr,
    count: usize,
) -> Result<Vec<c_int>, Error> {
    /// `CU_DEVICE_INVALID`.
    const NOWHERE: c_int = -2;
    let managed = driver.memory.holding(pointer).filter(|one| one.kind == Kind::Managed);
    let managed = managed.ok_or(Error::NotAllocated { address: pointer, expected: "managed memory" })?;
    driver.check(pointer, count as u64)?;
    let words = bytes / 4;
    let advice = driver.advice.of(&managed);
    match number {
        1 if bytes == 4 => Ok(vec![c_int::from(advice.read_mostly)]),
        2 if bytes == 4 => Ok(vec![advice.preferred]),
        3 if bytes >= 4 && bytes.is_multiple_of(4) => {
            let mut devices = advice.accessed_by;
            devices.resize(words, NOWHERE);
            Ok(devices)
        }
        4 if bytes == 4 => Ok(vec![advice.prefetched]),
        1..=4 => Err(wrong("dataSize", bytes, "it is not that of the attribute")),
        other => Err(wrong("attribute", other, "there is no such attribute")),
    }
}

/// # Safety
/// `data` is null, or has room for all of `words`.
unsafe fn store_words(data: Out<c_int>, words: &[c_int]) {
    for (index, word) in words.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { data.at(index) }.put_if(*word);
    }
}

pub(crate) extern "C" fn cuMemRangeGetAttribute(
    data: Out<c_int>,
    bytes: usize,
    number: c_int,
    pointer: CUdeviceptr,
    count: usize,
) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        data.required("data")?;
        let words = range_attribute(driver, number, bytes, pointer, count)?;
        // SAFETY: the words have `bytes` bytes together, the size of the caller's buffer.
        unsafe { store_words(data, &words) };
        Ok(())
    })
}

pub(crate) extern "C" fn cuMemRangeGetAttributes(
    data: In<u64>,
    bytes: In<usize>,
    numbers: In<c_int>,
    many: usize,
    pointer: CUdeviceptr,
    count: usize,
) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        if many == 0 {
            return Err(wrong("numAttributes", many, "there must be an attribute"));
        }
        for index in 0..many {
            // SAFETY: the arrays have `many` elements, and each place has room for an attribute.
            let (place, size, number) = unsafe {
                let place = Out::from_address(data.element("data", index)?);
                let size = bytes.element("dataSizes", index)?;
                (place, size, numbers.element("attributes", index)?)
            };
            let words = range_attribute(driver, number, size, pointer, count)?;
            // SAFETY: the words have `size` bytes together, the size of the caller's buffer.
            unsafe { store_words(place, &words) };
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_have_the_layout_of_cuda_h() {
        assert_eq!(size_of::<Properties>(), 32);
        assert_eq!(size_of::<Access>(), 12);
    }
}
