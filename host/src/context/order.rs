//! The order of work on different streams: a use of memory waits for the uses on other streams that are in conflict with it.

use crate::base::error::Result;
use crate::context::Entered;
use crate::context::queue::{Queue, Queues};
use crate::context::users::Waited;
use crate::context::uses::{Access, Order, Uses};

impl Entered<'_> {
    /// Waits until nothing that is on a stream now runs any more, whatever became of it. The driver is asked also in a
    /// context that a fault has ended, and what it answers does not matter: with success the work is done, and with a fault
    /// the device has stopped.
    pub(crate) fn settle(&self, queue: &Queue) {
        let _ = queue.raw.synchronize();
    }
}

impl Queues {
    /// Makes the host wait until a stream, known by its number, has done its work.
    pub(crate) fn wait_on_host(&self, id: u64, entered: &Entered<'_>, operation: impl Fn() -> String) -> Result<()> {
        if id == Queue::DEFAULT {
            return entered.check_wait(Waited::Device, self.default.raw.synchronize(), operation);
        }
        let event = {
            let others = self.others.lock();
            match others.iter().find(|other| other.id == id) {
                Some(queue) => entered.check(queue.mark(), &operation)?,
                // Its work is done.
                None => return Ok(()),
            }
        };
        entered.check_wait(Waited::on(id), event.synchronize(), operation)
    }
}

impl Queue {
    /// Makes the stream wait for other streams with conflicting uses, and records that the next work on this stream
    /// uses the memory. The caller holds [`Queues::order`] until the next work is enqueued.
    pub(crate) fn next_to_use(
        &self,
        memory: &Uses,
        access: &Access,
        order: &mut Order,
        entered: &Entered<'_>,
    ) -> Result<()> {
        let uses = memory.list(order);
        if uses.knows(self.id, access) {
            return Ok(());
        }
        for other in uses.in_the_way(self.id, access) {
            self.order_after(other, entered)?;
        }
        uses.note(self.id, access.clone());
        Ok(())
    }

    #[cold]
    fn order_after(&self, id: u64, entered: &Entered<'_>) -> Result<()> {
        let queues = &entered.context.queues;
        let waited = if id == Queue::DEFAULT {
            self.wait_for(&queues.default)
        } else {
            let others = queues.others.lock();
            // The work of a destroyed stream is complete.
            let found = others.iter().find(|other| other.id == id);
            found.map_or(Ok(()), |queue| self.wait_for(queue))
        };
        entered.check(waited, || "order the work of two streams".to_owned())
    }
}
