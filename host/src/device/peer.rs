//! Devices that reach each other's memory, and copies between devices.
//!
//! Kernels get memory of their own device only: passing another's is an error also where the device could reach it.

use super::{Device, in_driver};
use crate::error::{Code, Result, answer};
use crate::memory::{DeviceSlice, DeviceSliceMut};
use crate::profile::{Operation, recording};
use crate::stream::Lane;
use bytemuck::Pod;
use cust::context::ContextHandle;
use cust::sys;

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
        let asked =
            answer(unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.slot.raw.as_raw(), other.slot.raw.as_raw()) });
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
        match answer(unsafe { sys::cuCtxEnablePeerAccess(theirs.handle().get_inner(), 0) }) {
            Err(Code::PEER_ACCESS_ALREADY_ENABLED) => Ok(()),
            enabled => entered.check(enabled, operation),
        }
    }

    fn and(&self, verb: &str, other: &Device) -> String {
        format!("{verb} {} to the memory of device {}", self.ordinal(), other.ordinal())
    }
}

impl<T: Pod> DeviceSliceMut<'_, T> {
    /// Copies from the memory of another device. The host does not wait; both devices' later work that is in conflict does.
    pub(crate) fn copy_from_peer(&mut self, source: &DeviceSlice<'_, T>) -> Result<()> {
        let destination = self.as_slice();
        let (from, to) = (source.memory(), destination.memory());
        let operation = || {
            from.operation(&format!(
                "copy to device {} from device {}:",
                to.context.ordinal, from.context.ordinal
            ))
        };
        // One order for all pairs, so that two threads that copy both ways do not wait for each other.
        let (mut from_order, mut to_order) = if from.context.ordinal < to.context.ordinal {
            let first = from.context.lanes.order.lock();
            (first, to.context.lanes.order.lock())
        } else {
            let first = to.context.lanes.order.lock();
            (from.context.lanes.order.lock(), first)
        };
        let (sender, receiver) = (&from.context.lanes.default, &to.context.lanes.default);
        {
            let entered = from.context.enter(operation)?;
            sender.next_to_use(from, &source.access(false), &mut from_order, &entered)?;
            entered.check(receiver.wait_for(sender), operation)?;
        }
        {
            let entered = to.context.enter(operation)?;
            let _alive = from.context.enter_beside(operation)?;
            receiver.next_to_use(to, &destination.access(true), &mut to_order, &entered)?;
            let bytes = source.bytes() as u64;
            let copied = recording::on_stream(
                Some(&receiver.raw),
                || Operation::Copy { bytes },
                || copy(source, &destination, receiver),
            );
            entered.check(copied, operation)?;
        }
        // What writes the source later waits for the sender, and the sender for the copy; or else the host waits here.
        let entered = to.context.enter(operation)?;
        let ordered = sender.wait_for(receiver);
        if ordered.is_err() {
            entered.settle(receiver);
        }
        entered.check(ordered, operation)
    }
}

fn copy<T: Pod>(source: &DeviceSlice<'_, T>, destination: &DeviceSlice<'_, T>, lane: &Lane) -> Result<(), Code> {
    if source.is_empty() {
        return Ok(());
    }
    let [from, to] = [source, destination].map(|view| view.memory().context.handle().get_inner());
    // SAFETY: both memories are as long as said and freed only after the work on their streams, both of which wait for
    // this copy; the contexts are alive.
    answer(unsafe {
        sys::cuMemcpyPeerAsync(
            destination.address(),
            to,
            source.address(),
            from,
            source.bytes(),
            lane.raw.as_inner(),
        )
    })
}
