//! Devices: one, or the number that `RUMBA_SOFT_DEVICES` asks for. The devices differ in their identity and share one
//! machine.

use std::ffi::{c_char, c_int};

use rumba_vm::limits::Multiprocessor;

use crate::abi::{CUdevice, Out, Text, answer, wrong};
use crate::api::attributes::ATTRIBUTES;
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::table;

/// The number of the attribute that tells devices apart.
const PCI_BUS: c_int = 33;

/// The number of the attribute that the machine decides.
const MULTIPROCESSOR_COUNT: c_int = 16;

/// Identifies the first software device among devices; the last byte counts on.
const UUID: [u8; 16] = *b"rumba software 0";

/// The address of a device on a PCI bus that no machine has: the bus is its ordinal.
fn pci_bus_id(device: CUdevice) -> String {
    format!("0000:{device:02X}:00.0")
}

/// An attribute by its number in cuda.h.
pub(crate) fn attribute(driver: &Driver, number: c_int) -> Option<c_int> {
    if number == MULTIPROCESSOR_COUNT {
        return Some(driver.machine.multiprocessors() as c_int);
    }
    if let Some(value) = of_generation(table::multiprocessor(), number) {
        return Some(value as c_int);
    }
    ATTRIBUTES.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
}

/// The attributes in which generations of devices differ; of the newest they are those of the list.
fn of_generation(generation: Multiprocessor, number: c_int) -> Option<u32> {
    Some(match number {
        39 => generation.threads,
        CAPABILITY_MAJOR => generation.capability / 10,
        CAPABILITY_MINOR => generation.capability % 10,
        81 => generation.shared,
        97 => generation.shared_per_block,
        106 => generation.blocks,
        111 => generation.reserved_shared,
        120 => generation.has_clusters().into(),
        _ => return None,
    })
}

const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;

pub(crate) extern "C" fn cuDeviceGetCount(count: Out<c_int>) -> Code {
    answer(|| count.put("count", Driver::get()?.device_count()))
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

/// Stores as much of a text as fits in `length` characters, with the NUL that ends it.
fn store_text(target: Out<c_char>, length: c_int, text: &[u8]) -> Result<(), Error> {
    target.required("name")?;
    let room = usize::try_from(length - 1).map_err(|_| wrong("len", length, "there must be room for a NUL"))?;
    let text = &text[..text.len().min(room)];
    for (index, byte) in text.iter().chain(&[0]).enumerate() {
        // SAFETY: the text is no longer than `length`, for which every call with such an argument has room.
        unsafe { target.at(index) }.put_if(*byte as c_char);
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
        let found = match number {
            PCI_BUS => Some(device),
            number => attribute(driver, number),
        };
        let found = found.ok_or_else(|| wrong("attrib", number, "there is no such attribute"))?;
        value.put("pi", found)
    })
}

pub(crate) extern "C" fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: CUdevice) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        major.required("major")?;
        minor.required("minor")?;
        major.put("major", attribute(driver, CAPABILITY_MAJOR).unwrap_or(0))?;
        minor.put("minor", attribute(driver, CAPABILITY_MINOR).unwrap_or(0))
    })
}

pub(crate) extern "C" fn cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        let mut value = UUID;
        value[15] += device as u8;
        uuid.put("uuid", value)
    })
}

pub(crate) extern "C" fn cuDeviceGetPCIBusId(id: Out<c_char>, length: c_int, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        store_text(id, length, pci_bus_id(device).as_bytes())
    })
}

pub(crate) extern "C" fn cuDeviceGetByPCIBusId(device: Out<CUdevice>, id: Text) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        device.required("dev")?;
        let id = id.get("pciBusId")?.to_string_lossy();
        if !is_pci_bus_id(&id) {
            return Err(wrong("pciBusId", &id, "it is [domain:]bus:device[.function], in hexadecimal digits"));
        }
        let found = (0..driver.device_count()).find(|one| pci_bus_id(*one).eq_ignore_ascii_case(&id));
        device.put("dev", found.ok_or(Error::InvalidDevice(-1))?)
    })
}

/// Whether a text has the form of a bus's identifier.
fn is_pci_bus_id(text: &str) -> bool {
    let (places, function) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = places.split(':').chain([function]).collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(parts.len(), 3 | 4) && parts.iter().all(is_number)
}

pub(crate) extern "C" fn cuDeviceGetExecAffinitySupport(value: Out<c_int>, _kind: c_int, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        value.put("pi", 0)
    })
}
