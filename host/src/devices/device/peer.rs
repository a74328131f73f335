//! Devices that reach each other's memory: for copies, and for kernels. Passing a kernel the memory of another device is an error until
//! access is enabled.

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

    /// Lets this device use the memory of another one: copies from there go the direct way instead of through the host, and kernels of
    /// this device read and write buffers of the other one, over NVLink where the devices have it. It is one direction, and lasts as long
    /// as the contexts of both; doing it again changes nothing.
    ///
    /// A launch with buffers of other devices is ordered as any launch: it waits for earlier uses of the buffers that are in conflict, on
    /// all devices, and later uses wait for it. Such a launch cannot be part of a graph.
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
    /// A kernel that adds a buffer of another device to its own:
    /// ```
    /// # use rumba::test_kernels::{PTX, saxpy};
    /// # use rumba::{Device, LaunchConfig};
    /// let devices = Device::all()?;
    /// if let [one, other, ..] = &devices[..]
    ///     && one.can_access_peer(other)?
    /// {
    ///     one.enable_peer_access(other)?;
    ///     let (theirs, mut ours) = (other.buffer_from(&[2.0_f32; 100])?, one.buffer_from(&[1.0_f32; 100])?);
    ///     one.load(PTX)?.launch(LaunchConfig::for_each(100), saxpy(10.0, &theirs, &mut ours))?;
    ///     assert_eq!(ours.to_vec()?, [21.0; 100]);
    /// }
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn enable_peer_access(&self, other: &Device) -> Result<()> {
        let operation = || self.and("enable access of device", other);
        let (ours, theirs) = (self.context(), other.context());
        let (entered, _alive) = (ours.enter(operation)?, theirs.enter_beside(operation)?);
        // SAFETY: our context is current, the other one alive.
        match answer(unsafe { sys::cuCtxEnablePeerAccess(theirs.handle().raw(), 0) }) {
            Err(Code::PEER_ACCESS_ALREADY_ENABLED) => {}
            enabled => entered.check(enabled, operation)?,
        }
        if !ours.reaches(&theirs) {
            ours.reaches_from_now(&theirs);
        }
        Ok(())
    }

    fn and(&self, verb: &str, other: &Device) -> String {
        format!("{verb} {} to the memory of device {}", self.ordinal(), other.ordinal())
    }
}
