//! Devices. There is one, with ordinal 0.

use std::ffi::{CStr, c_char, c_int};

use crate::abi::{CUdevice, Out, Text, answer, wrong};
use crate::api::attributes::ATTRIBUTES;
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;

/// The number of the attribute that the machine decides.
const MULTIPROCESSOR_COUNT: c_int = 16;

/// Identifies the software device among devices.
const UUID: [u8; 16] = *b"rumba software 0";

/// No PCI device has this address.
const PCI_BUS_ID: &CStr = c"0000:00:00.0";

/// An attribute by its number in cuda.h.
pub(crate) fn attribute(driver: &Driver, number: c_int) -> Option<c_int> {
    if number == MULTIPROCESSOR_COUNT {
        return Some(driver.machine.multiprocessors() as c_int);
    }
    ATTRIBUTES.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

pub(crate) extern "C" fn cuDeviceGetCount(count: Out<c_int>) -> Code {
    answer(|| {
        Driver::get()?;
        count.put("count", 1)
    })
}

pub(crate) extern "C" fn cuDeviceGet(device: Out<CUdevice>, ordinal: c_int) -> Code {
    answer(|| {
        Driver::get()?;
        device.required("device")?;
        Driver::device(ordinal)?;
        device.put("device", ordinal)
    })
}

pub(crate) extern "C" fn cuDeviceGetName(name: Out<c_char>, length: c_int, device: CUdevice) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        store_text(name, length, driver.machine.name().as_bytes())
    })
}

/// Stores as much of a text as fits, with the NUL that ends it.
fn store_text(target: Out<c_char>, length: c_int, text: &[u8]) -> Result<(), Error> {
    target.required("name")?;
    let room = usize::try_from(length - 1).map_err(|_| wrong("len", length, "there must be room for a NUL"))?;
    let text = &text[..text.len().min(room)];
    for (index, byte) in text.iter().chain(&[0]).enumerate() {
        target.at(index).put_if(*byte as c_char);
    }
    Ok(())
}

pub(crate) extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: CUdevice) -> Code {
    answer(|| {
        let (_, total) = Driver::device(device)?.machine.memory();
        bytes.put("bytes", total as usize)
    })
}

pub(crate) extern "C" fn cuDeviceGetAttribute(value: Out<c_int>, number: c_int, device: CUdevice) -> Code {
    answer(|| {
        Driver::get()?;
        value.required("pi")?;
        let driver = Driver::device(device)?;
        let found = attribute(driver, number).ok_or_else(|| wrong("attrib", number, "there is no such attribute"))?;
        value.put("pi", found)
    })
}

pub(crate) extern "C" fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        major.required("major")?;
        minor.required("minor")?;
        major.put("major", ATTRIBUTES[74])?;
        minor.put("minor", ATTRIBUTES[75])
    })
}

pub(crate) extern "C" fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        uuid.put("uuid", UUID)
    })
}

pub(crate) extern "C" fn cuDeviceGetPCIBusId(id: Out<c_char>, length: c_int, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        store_text(id, length, PCI_BUS_ID.to_bytes())
    })
}

pub(crate) extern "C" fn cuDeviceGetByPCIBusId(device: Out<CUdevice>, id: Text) -> Code {
    answer(|| {
        Driver::get()?;
        device.required("dev")?;
        if id.get("pciBusId")? == PCI_BUS_ID {
            device.put("dev", 0)
        } else {
            Err(Error::InvalidDevice(-1))
        }
    })
}

pub(crate) extern "C" fn cuDeviceGetExecAffinitySupport(value: Out<c_int>, _kind: c_int, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        value.put("pi", 0)
    })
}
