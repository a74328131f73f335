//! How much of the device's memory kernels have allocated with `malloc`, and how much they may.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How much of the device's memory kernels have allocated, and how much they may.
#[derive(Debug)]
pub(crate) struct Heap {
    pub(crate) limit: AtomicUsize,
    used: AtomicUsize,
}

impl Heap {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: AtomicUsize::new(limit), used: AtomicUsize::new(0) }
    }

    /// How much kernels have allocated.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Goes back to what [`Self::used`] said.
    pub(crate) fn put_back(&self, used: usize) {
        self.used.store(used, Ordering::Relaxed);
    }

    pub(crate) fn take(&self, bytes: usize) -> bool {
        let limit = self.limit.load(Ordering::Relaxed);
        let more = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
