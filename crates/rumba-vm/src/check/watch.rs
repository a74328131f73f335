//! The last stores to a few bytes, for reports of differences between the engines.
//!
//! The interpreter tells of each access. Native code does not: there the bytes are looked at whenever a warp stops, so a store of the value that was there before goes
//! unnoticed.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::mem::atomic;

/// A store to the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Store {
    /// The block, and its warp.
    pub(crate) block: [u32; 3],
    pub(crate) warp: u32,
    /// The access, if it was reported.
    pub(crate) access: Option<StoreAccess>,
}

/// A store that was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreAccess {
    pub(crate) lane: usize,
    /// The instruction.
    pub(crate) source: u32,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
struct Seen {
    /// The bytes at the last check.
    held: Vec<u8>,
    told: Option<Store>,
    noticed: Option<Store>,
}

/// A watch on a few bytes of global memory.
#[derive(Debug)]
pub(crate) struct Watch {
    range: Range<u64>,
    seen: Mutex<Seen>,
}

impl Watch {
    /// A watch on bytes.
    ///
    /// # Safety
    /// The bytes are readable memory as long as the watch lives.
    pub(crate) unsafe fn new(range: Range<u64>) -> Self {
        let watch = Self { seen: Mutex::new(Seen { held: Vec::new(), told: None, noticed: None }), range };
        watch.lock().held = watch.read();
        watch
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Vec<u8> {
        let mut bytes = vec![0; (self.range.end - self.range.start) as usize];
        // SAFETY: the promise of `new`.
        unsafe { atomic::read(self.range.start, &mut bytes) };
        bytes
    }

    /// A lane is about to store.
    pub(crate) fn tell(&self, block: [u32; 3], warp: u32, access: StoreAccess) {
        if access.address < self.range.end && self.range.start < access.address.saturating_add(access.bytes) {
            self.lock().told = Some(Store { block, warp, access: Some(access) });
        }
    }

    /// Looks at the bytes after a warp has run.
    pub(crate) fn look(&self, block: [u32; 3], warp: u32) {
        let bytes = self.read();
        let mut seen = self.lock();
        if seen.held != bytes {
            seen.held = bytes;
            seen.noticed = Some(Store { block, warp, access: None });
        }
    }

    /// The last store.
    pub(crate) fn last(&self) -> Option<Store> {
        let seen = self.lock();
        seen.told.or(seen.noticed)
    }
}
