//! Events: marks in a stream's order of work, to wait for and to measure time between.
//!
//! cust's event is consumed by the one call that makes a stream wait for it, and does not show its
//! handle, so this type is built on the driver's calls themselves.

use crate::base::error::{Code, Result, answer};
use crate::base::host_fn::OutsideHostFn;
use crate::base::recording;
use crate::context::queue::Queue;
use crate::context::users::Waited;
use crate::context::{Context, same_context};
use crate::cuda::sys;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A mark in a stream's order of work: made by [`crate::Stream::record`], it happens when the work
/// before it is done.
pub struct Event {
    inner: OutsideHostFn<Inner>,
}

struct Inner {
    context: Arc<Context>,
    raw: sys::CUevent,
    /// The number of the stream that it was recorded on.
    queue: u64,
}

// SAFETY: the handle is a name that the driver looks up; its calls may be made from any thread, and
// every one made here makes the context current first.
unsafe impl Send for Inner {}
// SAFETY: as above; no method changes the event after it was recorded.
unsafe impl Sync for Inner {}

impl Event {
    /// Waits until the event has happened.
    ///
    /// # Errors
    /// [`crate::Error::Fault`] if a kernel before it failed, [`crate::Error::Panic`] if a thread of one panicked.
    pub fn synchronize(&self) -> Result<()> {
        let operation = || "wait for an event".to_owned();
        let entered = self.inner.context.enter(operation)?;
        // SAFETY: the event is alive, its context current.
        let wait = || answer(unsafe { sys::cuEventSynchronize(self.inner.raw) });
        entered.check_wait(Waited::on(self.inner.queue), recording::on_host("wait", wait), operation)
    }

    /// Whether the event has happened.
    ///
    /// # Errors
    /// [`crate::Error::Fault`] if a kernel before it failed.
    pub fn has_happened(&self) -> Result<bool> {
        let operation = || "ask for an event".to_owned();
        let entered = self.inner.context.enter(operation)?;
        // SAFETY: the event is alive, its context current.
        match answer(unsafe { sys::cuEventQuery(self.inner.raw) }) {
            Ok(()) => entered.check_wait(Waited::on(self.inner.queue), Ok::<_, Code>(true), operation),
            Err(Code::NOT_READY) => Ok(false),
            Err(error) => entered.check(Err(error), operation),
        }
    }

    /// The time on the device between `start` and this event, after waiting for this event.
    ///
    /// # Errors
    /// [`crate::Error::OtherDevice`] if `start` is another device's, and the driver's.
    pub fn since(&self, start: &Event) -> Result<Duration> {
        let operation = || "measure the time between two events".to_owned();
        same_context(&self.inner.context, &start.inner.context, operation)?;
        self.synchronize()?;
        start.synchronize()?;
        let entered = self.inner.context.enter(operation)?;
        let mut milliseconds = 0.0_f32;
        // SAFETY: both events are alive, their context current, `milliseconds` a valid place.
        let result = answer(unsafe { sys::cuEventElapsedTime(&mut milliseconds, start.inner.raw, self.inner.raw) });
        entered.check(result, operation)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
    }

    pub(crate) fn on_default_stream(context: Arc<Context>) -> Result<Event> {
        Event::on(&context, &context.queues.default)
    }

    pub(crate) fn on(context: &Arc<Context>, queue: &Queue) -> Result<Event> {
        let operation = || "record an event".to_owned();
        let entered = context.enter(operation)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the context is current, `raw` a valid place for a handle.
        let created = answer(unsafe { sys::cuEventCreate(&mut raw, 0) });
        entered.check(created, operation)?;
        let inner = Inner { context: context.clone(), raw, queue: queue.id() };
        let event = Event { inner: OutsideHostFn::new(inner) };
        // SAFETY: event and stream are alive, their context current.
        let recorded = answer(unsafe { sys::cuEventRecord(raw, queue.raw.raw()) });
        entered.check(recorded, operation)?;
        Ok(event)
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    pub(crate) fn make_wait(&self, queue: &Queue) -> Result<()> {
        let operation = || "make a stream wait for an event".to_owned();
        let entered = self.inner.context.enter(operation)?;
        // SAFETY: event and stream are alive, their context current.
        let waits = answer(unsafe { sys::cuStreamWaitEvent(queue.raw.raw(), self.inner.raw, 0) });
        entered.check(waits, operation)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("device", &self.inner.context.ordinal).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_to_release() {
            // SAFETY: destroyed once, here, in a living context. A fault that is reported here is
            // reported by every later call too.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}
