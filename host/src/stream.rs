//! Streams: queues of work that a device does in order.
//!
//! Work on different streams may overlap, but never where one writes what another uses: each buffer remembers which stream
//! used which part of it last, and a use on another stream that is in conflict first waits there. So the safe interface
//! has no data races between streams, and work that shares nothing, or only reads it, overlaps freely.

use crate::Event;
use crate::context::{Context, Entered};
use crate::error::{Error, Result};
use crate::memory::{Access, Allocation};
use crate::profile::recording;
use cust::error::CudaResult;
use cust::event::EventFlags;
use cust::stream::{StreamFlags, StreamWaitEventFlags};
use parking_lot::Mutex;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A queue of work on a device: what is put on it is done in order, and may overlap with work on
/// other streams that uses other buffers, other parts of them, or only reads the same.
///
/// Dropping a stream waits for its work. Cloning gives another handle to the same stream.
///
/// # Examples
/// ```
/// let device = rumba::Device::new()?;
/// let stream = device.stream()?;
/// let start = stream.record()?;
/// let end = stream.record()?;
/// println!("nothing took {:?}", end.since(&start)?);
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Stream {}

struct Inner {
    context: Arc<Context>,
    lane: ManuallyDrop<Lane>,
}

impl Stream {
    pub(crate) fn new(context: Arc<Context>) -> Result<Stream> {
        let operation = || "create a stream".to_owned();
        let lane = {
            let entered = context.enter(operation)?;
            let id = context.lanes.next.fetch_add(1, Ordering::Relaxed);
            entered.check(Lane::new(id), operation)?
        };
        let id = lane.id;
        let inner = Arc::new(Inner {
            context,
            lane: ManuallyDrop::new(lane),
        });
        inner.context.lanes.others.lock().push((id, Arc::downgrade(&inner)));
        Ok(Stream { inner })
    }

    /// Waits until all work that was put on this stream is done.
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel failed meanwhile, [`Error::Panic`] if a thread of one panicked.
    pub fn synchronize(&self) -> Result<()> {
        let operation = || "wait for a stream".to_owned();
        let entered = self.inner.context.enter(operation)?;
        let waited = recording::on_host("wait", || self.inner.lane.raw.synchronize());
        entered.check_wait(waited, operation)
    }

    /// Marks this moment in the stream's order of work.
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn record(&self) -> Result<Event> {
        Event::on(&self.inner.context, &self.inner.lane)
    }

    /// Makes all later work on this stream wait until `event` has happened. The host does not wait.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for an event of another device; the driver's.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.belongs_to(event.context(), || "wait for an event of another device".to_owned())?;
        event.make_wait(&self.inner.lane)
    }

    pub(crate) fn lane(&self) -> &Lane {
        &self.inner.lane
    }

    pub(crate) fn belongs_to(&self, context: &Arc<Context>, operation: impl Fn() -> String) -> Result<()> {
        same_context(&self.inner.context, context, operation)
    }
}

/// An error unless both are one context. A context that was reset is told apart from another device.
pub(crate) fn same_context(ours: &Arc<Context>, theirs: &Arc<Context>, operation: impl Fn() -> String) -> Result<()> {
    if Arc::ptr_eq(ours, theirs) {
        return Ok(());
    }
    ours.enter(&operation)?;
    theirs.enter(&operation)?;
    Err(Error::OtherDevice {
        operation: operation(),
        ours: ours.ordinal,
        theirs: theirs.ordinal,
    })
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("device", &self.inner.context.ordinal)
            .field("number", &self.inner.lane.id)
            .finish()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(entered) = self.context.enter_to_release() else {
            return;
        };
        // A stream that is gone has no work left: `Lane::order_after` relies on it. An error here is
        // a fault that every later call reports.
        let _ = self.lane.raw.synchronize();
        let id = self.lane.id;
        entered.context.lanes.others.lock().retain(|(other, _)| *other != id);
        // SAFETY: dropped once, here, in a living context; not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.lane) };
    }
}

/// All streams of a context.
pub(crate) struct Lanes {
    /// Where work goes that names no stream.
    pub(crate) default: Lane,
    others: Mutex<Vec<(u64, Weak<Inner>)>>,
    next: AtomicU64,
    /// Held while a buffer's last use is noted and the use itself put on its stream, so that another
    /// thread that finds the note also finds the work.
    pub(crate) order: Mutex<()>,
}

impl Lanes {
    /// With the default stream, in the context that is current.
    pub(crate) fn new() -> CudaResult<Lanes> {
        let default = Lane::new(Lane::DEFAULT)?;
        recording::is_default_stream(default.raw.as_inner());
        Ok(Lanes {
            default,
            others: Mutex::default(),
            next: AtomicU64::new(Lane::DEFAULT + 1),
            order: Mutex::new(()),
        })
    }
}

/// A stream as the driver knows it, with a number of our own that is never used again.
pub(crate) struct Lane {
    pub(crate) raw: cust::stream::Stream,
    id: u64,
}

impl Lane {
    const DEFAULT: u64 = 1;

    fn new(id: u64) -> CudaResult<Lane> {
        // Without NON_BLOCKING (which cust removes in any case): plain copies go through the null
        // stream, which waits for all such streams and they for it.
        Ok(Lane {
            raw: cust::stream::Stream::new(StreamFlags::DEFAULT, None)?,
            id,
        })
    }

    /// Notes that the next work on this stream uses something, after making the stream wait for the streams whose uses
    /// are in the way. Call it with [`Lanes::order`] held, until that work is enqueued.
    pub(crate) fn next_to_use(&self, memory: &Allocation, access: &Access, entered: &Entered<'_>) -> Result<()> {
        let mut uses = memory.uses.lock();
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
        let lanes = &entered.context.lanes;
        let wait_for = |earlier: &Lane| {
            let event = cust::event::Event::new(EventFlags::DISABLE_TIMING)?;
            event.record(&earlier.raw)?;
            self.raw.wait_event(event, StreamWaitEventFlags::DEFAULT)
        };
        let waited = if id == Lane::DEFAULT {
            wait_for(&lanes.default)
        } else {
            let find = |others: &[(u64, Weak<Inner>)]| others.iter().find(|other| other.0 == id)?.1.upgrade();
            let found = find(&lanes.others.lock());
            // One that is not found has been dropped, after its work was done.
            found.map_or(Ok(()), |stream| wait_for(&stream.lane))
        };
        entered.check(waited, || "order the work of two streams".to_owned())
    }
}
