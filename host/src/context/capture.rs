//! Captures in progress, so that what cannot be part of a graph is refused instead of being done at once and missed later.
//!
//! As in CUDA, whose error is `cudaErrorStreamCaptureImplicit`, work on the default stream is refused on the thread that captures.

use crate::base::error::{GraphError, Result};
use crate::context::{Context, Entered};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// The context for which this thread captures launches, or null.
    static CAPTURED: Cell<*const Context> = const { Cell::new(ptr::null()) };
}

/// A capture on this thread, until it is dropped.
pub(crate) struct Capture {
    /// The capture around it, or null.
    outer: *const Context,
}

impl Capture {
    pub(crate) fn begin(context: &Context) -> Capture {
        Capture { outer: CAPTURED.replace(context) }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        CAPTURED.set(self.outer);
    }
}

impl Entered<'_> {
    /// An error while this thread captures launches on this device, before work is put on the default stream.
    #[inline]
    pub(crate) fn not_captured(&self, operation: impl FnOnce() -> String) -> Result<()> {
        if ptr::eq(CAPTURED.get(), self.context) {
            return Err(GraphError::DefaultStream { operation: operation() }.into());
        }
        Ok(())
    }
}
