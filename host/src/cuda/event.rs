//! Events that the runtime makes for its own order of streams: they record no times.

use super::{Code, Stream, answer, handle, sys};

/// An event without a time.
pub(crate) struct Event(sys::CUevent);

// SAFETY: an event is a name that the driver looks up; its calls may be made from any thread.
unsafe impl Send for Event {}

// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// An event of the current context (`cuEventCreate`).
    pub(crate) fn new() -> Result<Self, Code> {
        // SAFETY: the place is valid.
        handle(|event| unsafe { sys::cuEventCreate(event, sys::CU_EVENT_DISABLE_TIMING) }).map(Self)
    }

    /// Records it on a stream, or on the null stream (`cuEventRecord`).
    pub(crate) fn record(&self, stream: Option<&Stream>) -> Result<(), Code> {
        let stream = stream.map_or(std::ptr::null_mut(), Stream::raw);
        // SAFETY: both are alive.
        answer(unsafe { sys::cuEventRecord(self.0, stream) })
    }

    /// Waits for the work before it (`cuEventSynchronize`).
    pub(crate) fn synchronize(&self) -> Result<(), Code> {
        // SAFETY: the event is alive.
        answer(unsafe { sys::cuEventSynchronize(self.0) })
    }

    pub(crate) fn raw(&self) -> sys::CUevent {
        self.0
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: destroyed once. The driver keeps the event until the work that names it is done. An error is a fault that
        // every later call reports.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}
