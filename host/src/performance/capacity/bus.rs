//! The bus between host and device: PCI Express, its generation and width, from NVIDIA's management library (NVML, loaded
//! when asked and harmless where it is absent) or from the system's list of devices.
//!
//! NVLink between a host and a device (Grace) is not known to either, and not told here.

use libloading::os::unix::{Library, Symbol};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fmt;

/// A PCI Express link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bus {
    /// Its generation, from 1.
    pub generation: u32,
    /// Its lanes.
    pub lanes: u32,
    /// Where the figure is from.
    pub source: &'static str,
}

impl Bus {
    /// Bytes per second in one direction: the lanes' rate with what the encoding leaves of it, before packet headers, which
    /// take about a tenth more.
    pub fn bandwidth(&self) -> f64 {
        let (transfers, encoding) = lane(self.generation);
        f64::from(self.lanes) * transfers * encoding / 8.0
    }
}

/// Transfers per second of a lane, and the share of them that is data: PCI Express base specifications 1.0 to 6.0.
fn lane(generation: u32) -> (f64, f64) {
    match generation {
        0 | 1 => (2.5e9, 8.0 / 10.0),
        2 => (5e9, 8.0 / 10.0),
        3 => (8e9, 128.0 / 130.0),
        4 => (16e9, 128.0 / 130.0),
        5 => (32e9, 128.0 / 130.0),
        _ => (64e9, 242.0 / 256.0),
    }
}

impl fmt::Display for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (transfers, encoding) = lane(self.generation);
        write!(
            f,
            "PCIe {}.0: {} lanes × {} GT/s × {encoding:.3} ({})",
            self.generation,
            self.lanes,
            transfers / 1e9,
            self.source
        )
    }
}

/// The link of the device at a PCI address: domain, bus, device.
pub(super) fn find([domain, bus, device]: [u32; 3]) -> Option<Bus> {
    from_nvml(&format!("{domain:08x}:{bus:02x}:{device:02x}.0"))
        .or_else(|| from_system(&format!("{domain:04x}:{bus:02x}:{device:02x}.0")))
}

/// `nvmlReturn_t` of success.
const SUCCESS: c_int = 0;

fn from_nvml(address: &str) -> Option<Bus> {
    type Init = unsafe extern "C" fn() -> c_int;
    type Handle = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;
    type Number = unsafe extern "C" fn(*mut c_void, *mut c_uint) -> c_int;
    let address = CString::new(address).ok()?;
    // SAFETY: loading runs the initialisers of NVIDIA's library, which has this name on every Linux. The signatures are
    // those of nvml.h, and all places outlive their calls.
    unsafe {
        let library = Library::new("libnvidia-ml.so.1").ok()?;
        let init: Symbol<Init> = library.get(b"nvmlInit_v2\0").ok()?;
        let shutdown: Symbol<Init> = library.get(b"nvmlShutdown\0").ok()?;
        let by_address: Symbol<Handle> = library.get(b"nvmlDeviceGetHandleByPciBusId_v2\0").ok()?;
        let generation: Symbol<Number> = library.get(b"nvmlDeviceGetMaxPcieLinkGeneration\0").ok()?;
        let width: Symbol<Number> = library.get(b"nvmlDeviceGetMaxPcieLinkWidth\0").ok()?;
        if init() != SUCCESS {
            return None;
        }
        let mut handle = std::ptr::null_mut();
        let mut numbers = [0, 0];
        let found = by_address(address.as_ptr(), &mut handle) == SUCCESS
            && generation(handle, &mut numbers[0]) == SUCCESS
            && width(handle, &mut numbers[1]) == SUCCESS;
        shutdown();
        found.then_some(Bus { generation: numbers[0], lanes: numbers[1], source: "NVML" })
    }
}

fn from_system(address: &str) -> Option<Bus> {
    let read = |file: &str| std::fs::read_to_string(format!("/sys/bus/pci/devices/{address}/{file}")).ok();
    parse(&read("max_link_speed")?, &read("max_link_width")?)
}

/// "32.0 GT/s PCIe" and "16".
fn parse(speed: &str, width: &str) -> Option<Bus> {
    let transfers: f64 = speed.split_whitespace().next()?.parse().ok()?;
    let generation = (1..=6).find(|&generation| (lane(generation).0 / 1e9 - transfers).abs() < 0.1)?;
    Some(Bus { generation, lanes: width.trim().parse().ok()?, source: "the system" })
}

#[cfg(test)]
mod tests {
    use super::{Bus, find, parse};

    #[test]
    fn the_system_s_words_are_read() {
        let bus = parse("32.0 GT/s PCIe\n", "16\n").expect("as Linux writes it");
        assert_eq!((bus.generation, bus.lanes), (5, 16));
        assert!((bus.bandwidth() / 63.0e9 - 1.0).abs() < 0.01, "{}", bus.bandwidth());
        assert_eq!(parse("Unknown", "16"), None);
        assert_eq!(parse("8.0 GT/s PCIe", "many"), None);
    }

    #[test]
    fn a_device_that_is_not_there_has_none() {
        assert_eq!(find([0xffff, 0xff, 0x1f]), None::<Bus>);
    }
}
