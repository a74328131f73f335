//! A stream of the driver.

use super::{Code, Event, answer, handle, stored, sys};

/// A stream. It is not destroyed when this is dropped: see [`Stream::destroy`].
pub(crate) struct Stream(sys::CUstream);

// SAFETY: a stream is a name that the driver looks up; its calls may be made from any thread.
unsafe impl Send for Stream {}

// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A stream of the current context that waits for the null stream, and the null stream for it (`cuStreamCreate`).
    pub(crate) fn new(priority: Option<i32>) -> Result<Self, Code> {
        // SAFETY: the place is valid.
        handle(|stream| unsafe { sys::cuStreamCreateWithPriority(stream, 0, priority.unwrap_or(0)) }).map(Self)
    }

    /// The stream of a handle.
    ///
    /// # Safety
    /// The handle is of a stream of which nothing else is the owner.
    #[cfg(feature = "cust")]
    pub(crate) unsafe fn of(raw: sys::CUstream) -> Self {
        Self(raw)
    }

    /// The address of the handle, valid as long as this stream.
    #[cfg(feature = "cust")]
    pub(crate) fn as_ptr(&self) -> *const sys::CUstream {
        &raw const self.0
    }

    /// The context of a stream (`cuStreamGetCtx`).
    ///
    /// # Safety
    /// The stream is alive, and a context is current.
    #[cfg(feature = "cust")]
    pub(crate) unsafe fn context_of(raw: sys::CUstream) -> Result<sys::CUcontext, Code> {
        // SAFETY: the place is valid; the caller's promise.
        handle(|context| unsafe { sys::cuStreamGetCtx(raw, context) })
    }

    /// Whether the stream and the null stream wait for each other (`cuStreamGetFlags`).
    ///
    /// # Safety
    /// As [`Stream::context_of`].
    #[cfg(feature = "cust")]
    pub(crate) unsafe fn is_blocking(raw: sys::CUstream) -> Result<bool, Code> {
        // SAFETY: the place is valid; the caller's promise.
        let flags = stored(|flags| unsafe { sys::cuStreamGetFlags(raw, flags) })?;
        Ok(flags & sys::CU_STREAM_NON_BLOCKING == 0)
    }

    pub(crate) fn raw(&self) -> sys::CUstream {
        self.0
    }

    /// The priority that the stream got (`cuStreamGetPriority`).
    pub(crate) fn priority(&self) -> Result<i32, Code> {
        // SAFETY: the stream is alive, the place valid.
        stored(|priority| unsafe { sys::cuStreamGetPriority(self.0, priority) })
    }

    /// Waits for its work (`cuStreamSynchronize`).
    pub(crate) fn synchronize(&self) -> Result<(), Code> {
        // SAFETY: the stream is alive.
        answer(unsafe { sys::cuStreamSynchronize(self.0) })
    }

    /// Makes later work wait for what an event was recorded after (`cuStreamWaitEvent`).
    pub(crate) fn wait_for(&self, event: &Event) -> Result<(), Code> {
        // SAFETY: both are alive.
        answer(unsafe { sys::cuStreamWaitEvent(self.0, event.raw(), 0) })
    }

    /// Destroys it (`cuStreamDestroy`).
    ///
    /// # Safety
    /// Its context is current, and nothing is done with it afterwards.
    pub(crate) unsafe fn destroy(&self) {
        // SAFETY: the caller's promise. An error is a fault that every later call reports.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}
