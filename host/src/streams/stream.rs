//! Streams: queues of work that a device does in order.
//!
//! Work on different streams may overlap, but never where one writes what another uses: each buffer remembers which stream
//! used which part of it last, and a use on another stream that is in conflict first waits there. So the safe interface
//! has no data races between streams, and work that shares nothing, or only reads it, overlaps freely.

use crate::base::error::{Code, GraphError, Result, answer};
use crate::base::host_fn::OutsideHostFn;
use crate::base::recording;
use crate::context::queue::Queue;
use crate::context::users::Waited;
use crate::context::{Context, same_context};
use crate::cuda::sys;
use crate::streams::event::Event;
use crate::streams::recorded::Recording;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    queue: Arc<Queue>,
    /// For a graph: the stream takes note of launches and does nothing.
    recording: Option<Recording>,
}

impl Stream {
    pub(crate) fn new(context: Arc<Context>, priority: Option<i32>) -> Result<Stream> {
        Stream::with(context, priority, None)
    }

    /// A stream that records launches for a graph.
    pub(crate) fn recording(context: Arc<Context>) -> Result<Stream> {
        Stream::with(context, None, Some(Recording::new()))
    }

    fn with(context: Arc<Context>, priority: Option<i32>, recording: Option<Recording>) -> Result<Stream> {
        let operation = || "create a stream".to_owned();
        let queue = {
            let entered = context.enter(operation)?;
            let id = context.queues.next.fetch_add(1, Ordering::Relaxed);
            entered.check(Queue::new(id, priority), operation)?
        };
        Ok(Stream::of(context, queue, recording))
    }

    /// A stream that another library has made.
    ///
    /// # Safety
    /// It is one of this context, waits for the null stream, and nothing else is its owner.
    #[cfg(feature = "cust")]
    pub(crate) unsafe fn from_raw(context: Arc<Context>, raw: sys::CUstream) -> Stream {
        let id = context.queues.next.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        let queue = Queue::of(id, unsafe { crate::cuda::Stream::of(raw) });
        Stream::of(context, queue, None)
    }

    fn of(context: Arc<Context>, queue: Queue, recording: Option<Recording>) -> Stream {
        let queue = Arc::new(queue);
        context.queues.others.lock().push(queue.clone());
        Stream { inner: OutsideHostFn::new(Arc::new(Inner { context, queue, recording })) }
    }

    /// Waits until all work that was put on this stream is done.
    ///
    /// # Errors
    /// [`crate::Error::Fault`] if a kernel failed meanwhile, [`crate::Error::Panic`] if a thread of one panicked.
    pub fn synchronize(&self) -> Result<()> {
        let operation = || "wait for a stream".to_owned();
        let queue = self.queue(operation)?;
        let entered = self.inner.context.enter(operation)?;
        let waited = recording::on_host("wait", || queue.raw.synchronize());
        entered.check_wait(Waited::on(queue.id), waited, operation)
    }

    /// Whether all work that was put on this stream is done.
    ///
    /// # Errors
    /// As [`Stream::synchronize`].
    pub fn is_done(&self) -> Result<bool> {
        let operation = || "ask for a stream".to_owned();
        let queue = self.queue(operation)?;
        let entered = self.inner.context.enter(operation)?;
        // SAFETY: the stream is alive, its context current.
        match answer(unsafe { sys::cuStreamQuery(queue.raw.raw()) }) {
            Err(Code::NOT_READY) => Ok(false),
            outcome => entered.check_wait(Waited::on(queue.id), outcome, operation).map(|()| true),
        }
    }

    /// Its priority: see [`crate::Device::stream_priorities`].
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn priority(&self) -> Result<i32> {
        let operation = || "read a stream's priority".to_owned();
        let entered = self.inner.context.enter(operation)?;
        entered.check(self.inner.queue.raw.priority(), operation)
    }

    /// Marks this moment in the stream's order of work.
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn record(&self) -> Result<Event> {
        Event::on(&self.inner.context, self.queue(|| "record an event".to_owned())?)
    }

    /// Makes all later work on this stream wait until `event` has happened. The host does not wait.
    ///
    /// # Errors
    /// [`crate::Error::OtherDevice`] for an event of another device; the driver's.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.belongs_to(event.context(), || "wait for an event of another device".to_owned())?;
        event.make_wait(self.queue(|| "wait for an event".to_owned())?)
    }

    /// Waits until nothing that is on this stream now runs any more: see `Entered::settle`. Not for host functions.
    pub(crate) fn settle(&self) {
        if let Some(entered) = self.inner.context.enter_to_release() {
            entered.settle(&self.inner.queue);
        }
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    /// Where its work goes, unless it only records.
    pub(crate) fn queue(&self, operation: impl Fn() -> String) -> Result<&Queue> {
        match &self.inner.recording {
            None => Ok(&self.inner.queue),
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

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("device", &self.inner.context.ordinal)
            .field("number", &self.inner.queue.id)
            .finish()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(entered) = self.context.enter_to_release() {
            entered.settle(&self.queue);
            // Until here others have found the stream and waited for it. With the lock held none is just using it.
            let mut others = entered.context.queues.others.lock();
            others.retain(|other| !Arc::ptr_eq(other, &self.queue));
            // SAFETY: the handle is this one's and no longer in the list; the context is alive.
            unsafe { self.queue.destroy() };
        }
    }
}
