//! Copies between devices.

use crate::base::activity::Operation;
use crate::base::error::{Code, Result, answer};
use crate::base::recording;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::context::queue::Queue;
use crate::cuda::sys;
use bytemuck::Pod;

impl<T: Pod> DeviceSliceMut<'_, T> {
    /// Copies from the memory of another device. The host does not wait; both devices' later work that is in conflict does.
    pub(crate) fn copy_from_peer(&mut self, source: &DeviceSlice<'_, T>) -> Result<()> {
        let destination = self.as_slice();
        let (from, to) = (source.memory(), destination.memory());
        let operation =
            || from.operation(&format!("copy to device {} from device {}:", to.context.ordinal, from.context.ordinal));
        // One order for all pairs, so that two threads that copy both ways do not wait for each other.
        let (mut from_order, mut to_order) = if from.context.ordinal < to.context.ordinal {
            let first = from.context.queues.order.lock();
            (first, to.context.queues.order.lock())
        } else {
            let first = to.context.queues.order.lock();
            (from.context.queues.order.lock(), first)
        };
        let (sender, receiver) = (&from.context.queues.default, &to.context.queues.default);
        {
            let entered = from.context.enter(operation)?;
            sender.next_to_use(&from.uses, &source.access(false), &mut from_order, &entered)?;
            entered.check(receiver.wait_for(sender), operation)?;
        }
        {
            let entered = to.context.enter(operation)?;
            let _alive = from.context.enter_beside(operation)?;
            entered.not_captured(operation)?;
            receiver.next_to_use(&to.uses, &destination.access(true), &mut to_order, &entered)?;
            let bytes = source.bytes() as u64;
            let copied = recording::on_stream(
                Some(&receiver.raw),
                || Operation::Copy { bytes },
                || copy(source, &destination, receiver),
            );
            entered.check(copied, operation)?;
        }
        // Later writes to the source wait for the sender, and the sender for the copy; or else the host waits here.
        let entered = to.context.enter(operation)?;
        let ordered = sender.wait_for(receiver);
        if ordered.is_err() {
            entered.settle(receiver);
        }
        entered.check(ordered, operation)
    }
}

fn copy<T: Pod>(source: &DeviceSlice<'_, T>, destination: &DeviceSlice<'_, T>, queue: &Queue) -> Result<(), Code> {
    if source.is_empty() {
        return Ok(());
    }
    let [from, to] = [source, destination].map(|view| view.memory().context.handle().raw());
    // SAFETY: both memories are as long as said and freed only after the work on their streams, both of which wait for
    // this copy; the contexts are alive.
    answer(unsafe {
        sys::cuMemcpyPeerAsync(destination.address(), to, source.address(), from, source.bytes(), queue.raw.raw())
    })
}
