//! The streams of a context as the driver knows them: queues of work, each with a number of its own.

use crate::base::recording;
use crate::context::uses::{Order, OrderId};
use crate::cuda::{Code, Event, Stream};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// All streams of a context.
pub(crate) struct Queues {
    /// Where work goes that names no stream.
    pub(crate) default: Queue,
    /// All others, from when they are made until their work is done and they are destroyed: a stream whose last handle is
    /// being dropped is among them.
    pub(crate) others: Mutex<Vec<Arc<Queue>>>,
    pub(crate) next: AtomicU64,
    /// Held while a buffer's last use is noted and the use itself put on its stream, so that another
    /// thread that finds the note also finds the work.
    pub(crate) order: Mutex<Order>,
    /// For allocations, whose uses are seen with that lock held.
    pub(crate) order_id: OrderId,
}

impl Queues {
    /// With the default stream, in the context that is current.
    pub(crate) fn new() -> Result<Queues, Code> {
        let default = Queue::new(Queue::DEFAULT, None)?;
        recording::is_default_stream(default.raw.raw());
        let order = Order::new();
        Ok(Queues {
            default,
            others: Mutex::default(),
            next: AtomicU64::new(Queue::DEFAULT + 1),
            order_id: order.id(),
            order: Mutex::new(order),
        })
    }
}

/// A stream as the driver knows it, with a number that no other stream of the context gets.
pub(crate) struct Queue {
    pub(crate) raw: Stream,
    pub(crate) id: u64,
}

impl Queues {
    /// Destroys the default stream, in the current context.
    pub(crate) fn release(self) {
        // SAFETY: the handle is this one's, and the last thing of its context.
        unsafe { self.default.destroy() };
    }
}

impl Queue {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) const DEFAULT: u64 = 1;

    /// The queue of a stream that another library has made.
    #[cfg(feature = "cust")]
    pub(crate) fn of(id: u64, raw: Stream) -> Queue {
        Queue { raw, id }
    }

    pub(crate) fn new(id: u64, priority: Option<i32>) -> Result<Queue, Code> {
        // A stream that waits for the null stream, through which plain copies go, and the null stream for it.
        Ok(Queue { raw: Stream::new(priority)?, id })
    }

    /// Destroys the stream.
    ///
    /// # Safety
    /// Its context is current, and nothing is done with it afterwards.
    pub(crate) unsafe fn destroy(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.raw.destroy() };
    }

    /// An event after what is on the stream now.
    pub(crate) fn mark(&self) -> Result<Event, Code> {
        let event = Event::new()?;
        event.record(Some(&self.raw))?;
        Ok(event)
    }

    /// Makes later work wait for what is on another stream now. That stream's context must be current.
    pub(crate) fn wait_for(&self, earlier: &Queue) -> Result<(), Code> {
        self.raw.wait_for(&earlier.mark()?)
    }
}
