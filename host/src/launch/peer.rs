//! Launches with memory of other devices, which the launch's device reaches: the order with the work of all these devices.

use super::Launch;
use crate::base::error::Result;
use crate::buffers::argument::device_memory;
use crate::context::Context;
use cuda_std::launch::Arguments;

/// Puts a kernel on its stream, behind uses of its memory on all devices. Later uses on other devices wait for the kernel, since the
/// default stream of each of these devices does, which stands for the kernel there.
#[cold]
pub(super) fn enqueue(launch: &Launch<'_>, arguments: &mut Arguments<'_>) -> Result<()> {
    let own = launch.entered.context;
    let operation = || format!("launch `{}` with memory of another device", launch.kernel.name);
    let mut contexts: Vec<&Context> = device_memory(arguments).map(|(memory, _)| &*memory.context).collect();
    contexts.push(own);
    // One order for all launches and copies, so that two threads do not wait for each other.
    contexts.sort_by_key(|context| (context.ordinal, context.id));
    contexts.dedup_by_key(|context| context.id);
    let mut orders: Vec<_> = contexts.iter().map(|context| context.queues.order.lock()).collect();
    let mut entered = Vec::with_capacity(contexts.len());
    for (context, order) in contexts.iter().zip(&mut orders) {
        let alive = context.enter(operation)?;
        let queue = if context.id == own.id { launch.queue } else { &context.queues.default };
        for (memory, access) in device_memory(arguments).filter(|(memory, _)| memory.context.id == context.id) {
            queue.next_to_use(&memory.uses, &access, order, &alive)?;
        }
        if context.id != own.id {
            alive.check(launch.queue.wait_for(queue), operation)?;
        }
        entered.push(alive);
    }
    let own = own.enter(operation)?;
    let launched = launch.put(arguments);
    for context in contexts.iter().filter(|context| context.id != own.context.id) {
        // Or else the host waits here.
        let ordered = context.queues.default.wait_for(launch.queue);
        if ordered.is_err() {
            own.settle(launch.queue);
        }
        own.check(ordered, operation)?;
    }
    launched
}
