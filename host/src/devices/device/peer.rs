//! Devices that reach each other's memory, and copies between devices.
//!
//! Kernels get memory of their own device only: passing another's is an error also where the device could reach it.

use crate::base::error::{Code, Result, answer};
use crate::cuda::sys;
use crate::devices::device::{Device, in_driver};

impl Device {
    /// Whether this device can read and write the memory of another one directly: over NVLink, or over PCIe where the
    /// platform allows it. A device is no peer of itself.
    ///
    /// # Errors
    /// The driver's.
    pub fn can_access_peer(&self, other: &Device) -> Result<bool> {
        if self.ordinal() == other.ordinal() {
            return Ok(false);
        }
        let mut can = 0;
        // SAFETY: `can` is a valid place, both devices are the driver's.
        let asked = answer(unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.slot.raw.raw(), other.slot.raw.raw()) });
        in_driver(asked, || self.and("ask whether device", other))?;
        Ok(can != 0)
    }

    /// Lets this device use the memory of another one, so that copies from there go the direct way instead of through the
    /// host. It is one direction, and lasts as long as the contexts of both; doing it again changes nothing.
    ///
    /// # Errors
    /// The driver's, for example where the device [cannot](Device::can_access_peer).
    ///
    /// # Examples
    /// ```
    /// let devices = rumba::Device::all()?;
    /// for one in &devices {
    ///     for other in &devices {
    ///         if one.can_access_peer(other)? {
    ///             one.enable_peer_access(other)?;
    ///         }
    ///     }
    /// }
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn enable_peer_access(&self, other: &Device) -> Result<()> {
        let operation = || self.and("enable access of device", other);
        let (ours, theirs) = (self.context(), other.context());
        let (entered, _alive) = (ours.enter(operation)?, theirs.enter_beside(operation)?);
        // SAFETY: our context is current, the other one alive.
        match answer(unsafe { sys::cuCtxEnablePeerAccess(theirs.handle().raw(), 0) }) {
            Err(Code::PEER_ACCESS_ALREADY_ENABLED) => Ok(()),
            enabled => entered.check(enabled, operation),
        }
    }

    fn and(&self, verb: &str, other: &Device) -> String {
        format!("{verb} {} to the memory of device {}", self.ordinal(), other.ordinal())
    }
}
