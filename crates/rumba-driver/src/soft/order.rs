//! Streams and events. Work runs when it is enqueued, on the calling thread, so a stream keeps nothing but
//! the promise that its work does not overlap, and an event nothing but the time of its record.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::soft::context::Owner;

/// A stream.
pub(crate) struct Stream {
    pub(crate) context: Owner,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) id: u64,
    work: Mutex<()>,
}

impl Stream {
    pub(crate) fn new(context: Owner, flags: u32, priority: i32, id: u64) -> Self {
        Self {
            context,
            flags,
            priority,
            id,
            work: Mutex::default(),
        }
    }
}

/// Where work is enqueued: a stream, or the default stream of a context.
pub(crate) enum Queue {
    /// A stream that was made.
    Stream(std::sync::Arc<Stream>),
    /// The default stream.
    Default(Owner),
}

impl Queue {
    pub(crate) fn context(&self) -> &Owner {
        match self {
            Self::Stream(stream) => &stream.context,
            Self::Default(context) => context,
        }
    }

    /// Waits for the work of other threads in this stream, and keeps them out until the guard is dropped.
    pub(crate) fn enter(&self) -> MutexGuard<'_, ()> {
        match self {
            Self::Stream(stream) => &stream.work,
            Self::Default(context) => &context.default_stream,
        }
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event.
pub(crate) struct Event {
    pub(crate) context: Owner,
    pub(crate) flags: u32,
    /// Nanoseconds since the first record of the process; 0 before the event is recorded.
    recorded: AtomicU64,
}

impl Event {
    /// `CU_EVENT_DISABLE_TIMING`.
    pub(crate) const DISABLE_TIMING: u32 = 2;

    pub(crate) fn new(context: Owner, flags: u32) -> Self {
        Self {
            context,
            flags,
            recorded: AtomicU64::new(0),
        }
    }

    pub(crate) fn record(&self) {
        self.recorded.store(now(), Ordering::Release);
    }

    /// When the event was recorded, if it was and keeps the time.
    pub(crate) fn time(&self) -> Option<u64> {
        match self.recorded.load(Ordering::Acquire) {
            0 => None,
            time => (self.flags & Self::DISABLE_TIMING == 0).then_some(time),
        }
    }
}

/// Nanoseconds on a clock that never shows the same time twice, so that one record after another has a
/// positive distance.
fn now() -> u64 {
    static START: Mutex<Option<Instant>> = Mutex::new(None);
    static LAST: AtomicU64 = AtomicU64::new(0);
    let start = *START
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_with(Instant::now);
    let time = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX - 1);
    let last = LAST
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(time.max(last + 1)))
        .unwrap_or_else(|last| last);
    time.max(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_stands_still() {
        let times: Vec<u64> = (0..1000).map(|_| now()).collect();
        assert!(times.is_sorted_by(|earlier, later| earlier < later));
        assert!(times[0] > 0);
    }
}
