//! Streams: queues of work that a device does in order.
//!
//! Work on different streams may overlap, but never where one writes what another uses: each buffer remembers which stream
//! used which part of it last, and a use on another stream that is in conflict first waits there. So the safe interface
//! has no data races between streams, and work that shares nothing, or only reads it, overlaps freely.

use crate::Event;
use crate::callback::OutsideHostFn;
use crate::context::{Context, Entered};
use crate::error::{Code, Error, GraphError, Result, answer};
use crate::graph::Recording;
use crate::memory::{Access, Allocation, Order, OrderId};
use crate::panics::Waited;
use crate::profile::recording;
use cust::error::CudaResult;
use cust::event::EventFlags;
use cust::stream::{StreamFlags, StreamWaitEventFlags};
use cust::sys;
use parking_lot::Mutex;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A queue of work on a device: what is put on it is done in order, and may overlap with work on
/// other streams that uses other buffers, other parts of them, or only reads the same.
///
/// Dropping the last handle to a stream waits for its work; in a host function, another thread does so. Cloning gives
/// another handle to the same stream.
///
/// # The default stream
///
/// Work that names no stream goes to the default stream of its device. It is one for all threads, and an ordinary stream
/// in everything: it runs beside the others and waits for one only where a buffer demands it. CUDA calls it neither the
/// legacy nor the per-thread default stream.
///
/// Copies that the host waits for (`to_vec`, `copy_from`, `clear`, host slices as arguments) go through CUDA's legacy default
/// stream: they wait for all work that was put on any stream of the device before, and work that is put on a stream
/// afterwards waits for them. To overlap copies with kernels, put them on a stream: [`crate::Device::scope`],
/// [`crate::DeviceBuffer::copy_from_pinned`].
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
    inner: OutsideHostFn<Arc<Inner>>,
}

impl PartialEq for Stream {
    fn eq(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Eq for Stream {}

struct Inner {
    context: Arc<Context>,
    lane: Arc<Lane>,
    /// For a graph: the stream takes note of launches and does nothing.
    recording: Option<Recording>,
}

impl Stream {
    pub(crate) fn new(context: Arc<Context>, priority: Option<i32>) -> Result<Stream> {
        Stream::with(context, priority, None)
    }

    /// One that records launches for a graph.
    pub(crate) fn recording(context: Arc<Context>) -> Result<Stream> {
        Stream::with(context, None, Some(Recording::new()))
    }

    fn with(context: Arc<Context>, priority: Option<i32>, recording: Option<Recording>) -> Result<Stream> {
        let operation = || "create a stream".to_owned();
        let lane = {
            let entered = context.enter(operation)?;
            let id = context.lanes.next.fetch_add(1, Ordering::Relaxed);
            entered.check(Lane::new(id, priority), operation)?
        };
        let lane = Arc::new(lane);
        context.lanes.others.lock().push(lane.clone());
        let inner = Arc::new(Inner {
            context,
            lane,
            recording,
        });
        Ok(Stream {
            inner: OutsideHostFn::new(inner),
        })
    }

    /// Waits until all work that was put on this stream is done.
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel failed meanwhile, [`Error::Panic`] if a thread of one panicked.
    pub fn synchronize(&self) -> Result<()> {
        let operation = || "wait for a stream".to_owned();
        let lane = self.lane(operation)?;
        let entered = self.inner.context.enter(operation)?;
        let waited = recording::on_host("wait", || lane.raw.synchronize());
        entered.check_wait(Waited::Stream(lane.id), waited, operation)
    }

    /// Whether all work that was put on this stream is done.
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    pub fn is_done(&self) -> Result<bool> {
        let operation = || "ask for a stream".to_owned();
        let lane = self.lane(operation)?;
        let entered = self.inner.context.enter(operation)?;
        // SAFETY: the stream is alive, its context current.
        match answer(unsafe { sys::cuStreamQuery(lane.raw.as_inner()) }) {
            Err(Code::NOT_READY) => Ok(false),
            outcome => entered
                .check_wait(Waited::Stream(lane.id), outcome, operation)
                .map(|()| true),
        }
    }

    /// Its priority: see [`crate::Device::stream_priorities`].
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn priority(&self) -> Result<i32> {
        let operation = || "read a stream's priority".to_owned();
        let entered = self.inner.context.enter(operation)?;
        entered.check(self.inner.lane.raw.get_priority(), operation)
    }

    /// Marks this moment in the stream's order of work.
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn record(&self) -> Result<Event> {
        Event::on(&self.inner.context, self.lane(|| "record an event".to_owned())?)
    }

    /// Makes all later work on this stream wait until `event` has happened. The host does not wait.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for an event of another device; the driver's.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.belongs_to(event.context(), || "wait for an event of another device".to_owned())?;
        event.make_wait(self.lane(|| "wait for an event".to_owned())?)
    }

    /// Waits until nothing that is on this stream now runs any more: see [`Entered::settle`]. Not for host functions.
    pub(crate) fn settle(&self) {
        if let Some(entered) = self.inner.context.enter_to_release() {
            entered.settle(&self.inner.lane);
        }
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    /// Where its work goes, unless it only records.
    pub(crate) fn lane(&self, operation: impl Fn() -> String) -> Result<&Lane> {
        match &self.inner.recording {
            None => Ok(&self.inner.lane),
            Some(_) => Err(GraphError::NotALaunch { operation: operation() }.into()),
        }
    }

    /// Where its launches are noted, if it only records.
    pub(crate) fn records(&self) -> Option<&Recording> {
        self.inner.recording.as_ref()
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
        if let Some(entered) = self.context.enter_to_release() {
            entered.settle(&self.lane);
            // Until here others have found the stream and waited for it. With the lock held none is just using it.
            let mut others = entered.context.lanes.others.lock();
            others.retain(|other| !Arc::ptr_eq(other, &self.lane));
            // SAFETY: the handle is this one's and no longer in the list; the context is alive.
            unsafe { self.lane.destroy() };
        }
    }
}

impl Entered<'_> {
    /// Waits until nothing that is on a stream now runs any more, whatever became of it. The driver is asked also in a
    /// context that a fault has ended, and what it answers does not matter: with success the work is done, and with a fault
    /// the device has stopped.
    pub(crate) fn settle(&self, lane: &Lane) {
        let _ = lane.raw.synchronize();
    }
}

/// All streams of a context.
pub(crate) struct Lanes {
    /// Where work goes that names no stream.
    pub(crate) default: Lane,
    /// All others, from when they are made until their work is done and they are destroyed: a stream whose last handle is
    /// being dropped is among them.
    others: Mutex<Vec<Arc<Lane>>>,
    next: AtomicU64,
    /// Held while a buffer's last use is noted and the use itself put on its stream, so that another
    /// thread that finds the note also finds the work.
    pub(crate) order: Mutex<Order>,
    /// For allocations, whose uses are seen with that lock held.
    pub(crate) order_id: OrderId,
}

impl Lanes {
    /// With the default stream, in the context that is current.
    pub(crate) fn new() -> CudaResult<Lanes> {
        let default = Lane::new(Lane::DEFAULT, None)?;
        recording::is_default_stream(default.raw.as_inner());
        let order = Order::new();
        Ok(Lanes {
            default,
            others: Mutex::default(),
            next: AtomicU64::new(Lane::DEFAULT + 1),
            order_id: order.id(),
            order: Mutex::new(order),
        })
    }
}

/// A stream as the driver knows it, with a number of our own that is never used again.
pub(crate) struct Lane {
    pub(crate) raw: ManuallyDrop<cust::stream::Stream>,
    id: u64,
}

impl Lanes {
    /// Makes the host wait until a lane, known by its number, has done its work.
    pub(crate) fn wait_on_host(&self, id: u64, entered: &Entered<'_>, operation: impl Fn() -> String) -> Result<()> {
        if id == Lane::DEFAULT {
            return entered.check_wait(Waited::Device, self.default.raw.synchronize(), operation);
        }
        let event = {
            let others = self.others.lock();
            match others.iter().find(|other| other.id == id) {
                Some(lane) => entered.check(lane.mark(), &operation)?,
                // Its work is done.
                None => return Ok(()),
            }
        };
        entered.check_wait(Waited::Stream(id), event.synchronize(), operation)
    }

    /// Destroys the default stream, in the current context.
    pub(crate) fn release(self) {
        // SAFETY: the handle is this one's, and the last thing of its context.
        unsafe { self.default.destroy() };
    }
}

impl Lane {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    const DEFAULT: u64 = 1;

    fn new(id: u64, priority: Option<i32>) -> CudaResult<Lane> {
        // Without NON_BLOCKING (which cust removes in any case): plain copies go through the null
        // stream, which waits for all such streams and they for it.
        Ok(Lane {
            raw: ManuallyDrop::new(cust::stream::Stream::new(StreamFlags::DEFAULT, priority)?),
            id,
        })
    }

    /// Destroys the stream.
    ///
    /// # Safety
    /// Its context is current, and nothing is done with it afterwards.
    unsafe fn destroy(&self) {
        // SAFETY: the caller's promise. An error is a fault that every later call reports.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.raw.as_inner()) };
    }

    /// An event after what is on the stream now.
    fn mark(&self) -> CudaResult<cust::event::Event> {
        let event = cust::event::Event::new(EventFlags::DISABLE_TIMING)?;
        event.record(&self.raw)?;
        Ok(event)
    }

    /// Notes that the next work on this stream uses something, after making the stream wait for the streams whose uses
    /// are in the way. [`Lanes::order`] is held until that work is enqueued.
    pub(crate) fn next_to_use(
        &self,
        memory: &Allocation,
        access: &Access,
        order: &mut Order,
        entered: &Entered<'_>,
    ) -> Result<()> {
        let uses = memory.uses.list(order);
        if uses.knows(self.id, access) {
            return Ok(());
        }
        for other in uses.in_the_way(self.id, access) {
            self.order_after(other, entered)?;
        }
        uses.note(self.id, access.clone());
        Ok(())
    }

    /// Makes later work wait for what is on another stream now. That stream's context must be current.
    pub(crate) fn wait_for(&self, earlier: &Lane) -> CudaResult<()> {
        self.raw.wait_event(earlier.mark()?, StreamWaitEventFlags::DEFAULT)
    }

    #[cold]
    fn order_after(&self, id: u64, entered: &Entered<'_>) -> Result<()> {
        let lanes = &entered.context.lanes;
        let waited = if id == Lane::DEFAULT {
            self.wait_for(&lanes.default)
        } else {
            let others = lanes.others.lock();
            // The work of one that is not there is done.
            let found = others.iter().find(|other| other.id == id);
            found.map_or(Ok(()), |lane| self.wait_for(lane))
        };
        entered.check(waited, || "order the work of two streams".to_owned())
    }
}
