//! Identifiers of devices that stay the same between programs, unlike a device's number.

use crate::base::error::{Code, Error, Result, answer};
use crate::cuda::sys;
use crate::devices::device::{Device, in_driver};
use std::ffi::{CStr, CString};
use std::fmt;

/// A globally unique identifier of a device. Shown as `nvidia-smi -L` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GPU")?;
        for (index, byte) in self.0.iter().enumerate() {
            if [0, 4, 6, 8, 10].contains(&index) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl Device {
    /// All devices, in the order of their numbers.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if `RUMBA_DEVICE` asks for what is not there; the driver's.
    ///
    /// # Examples
    /// ```
    /// for device in rumba::Device::all()? {
    ///     println!("{}: {} at {}, {}", device.ordinal(), device.name(), device.pci_bus_id()?, device.uuid()?);
    /// }
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn all() -> Result<Vec<Device>> {
        (0..Device::count()?).map(Device::get).collect()
    }

    /// The device with this identifier.
    ///
    /// # Errors
    /// [`Error::NoDeviceWith`] if no device has the identifier; the driver's errors.
    pub fn by_uuid(uuid: Uuid) -> Result<Device> {
        for device in Device::all()? {
            if device.uuid()? == uuid {
                return Ok(device);
            }
        }
        Err(Error::NoDeviceWith { identity: format!("the UUID {uuid}") })
    }

    /// The device in this place of the bus, for example `0000:3b:00.0`.
    ///
    /// # Errors
    /// [`Error::NoDeviceWith`] if no device has the identifier; the driver's errors.
    pub fn by_pci_bus_id(id: &str) -> Result<Device> {
        // Also starts the driver.
        Device::count()?;
        let none = || Error::NoDeviceWith { identity: format!("the PCI bus id `{id}`") };
        let text = CString::new(id).map_err(|_| none())?;
        let mut raw = 0;
        // SAFETY: `raw` is a valid place, the text is terminated.
        match answer(unsafe { sys::cuDeviceGetByPCIBusId(&mut raw, text.as_ptr()) }) {
            Err(Code::INVALID_DEVICE | Code::INVALID_VALUE) => return Err(none()),
            asked => in_driver(asked, || format!("look for the device with the PCI bus id `{id}`"))?,
        }
        Device::get(u32::try_from(raw).map_err(|_| none())?)
    }

    /// The globally unique identifier of the device.
    ///
    /// # Errors
    /// The driver's.
    pub fn uuid(&self) -> Result<Uuid> {
        let mut uuid = sys::CUuuid { bytes: [0; 16] };
        // SAFETY: `uuid` is a valid place, the device is one that the driver gave out.
        let read = answer(unsafe { sys::cuDeviceGetUuid(&mut uuid, self.slot.raw.raw()) });
        in_driver(read, || "read the device's UUID".to_owned())?;
        Ok(Uuid(uuid.bytes))
    }

    /// Its place on the bus: domain, bus, device and function, for example `0000:3b:00.0`.
    ///
    /// # Errors
    /// The driver's.
    pub fn pci_bus_id(&self) -> Result<String> {
        let mut text = [0_u8; 32];
        // SAFETY: the length passed is the length of `text`.
        let read = answer(unsafe {
            sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), text.len() as i32, self.slot.raw.raw())
        });
        in_driver(read, || "read the device's PCI bus id".to_owned())?;
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        Ok(text.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;

    #[test]
    fn an_identifier_is_shown_as_others_show_it() {
        let uuid = Uuid([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]);
        assert_eq!(uuid.to_string(), "GPU-00010203-0405-0607-0809-0a0b0c0d0eff");
    }
}
