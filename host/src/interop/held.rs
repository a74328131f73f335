//! Which memory of other libraries this process uses: one writer or any number of readers, as the borrow checker has it.

use std::ops::Range;

use parking_lot::Mutex;

use crate::base::error::{InteropError, Result};

struct Hold {
    number: u64,
    bytes: Range<u64>,
    writes: bool,
}

struct Holds {
    next: u64,
    all: Vec<Hold>,
}

static HOLDS: Mutex<Holds> = Mutex::new(Holds { next: 0, all: Vec::new() });

/// The right to use a range of addresses, until it is dropped.
pub(super) struct Held(u64);

impl Held {
    /// # Errors
    /// [`InteropError::InUse`] if a part of the range is in use, and one of both writes.
    pub(super) fn new(bytes: Range<u64>, writes: bool) -> Result<Held> {
        let mut holds = HOLDS.lock();
        let overlaps = |other: &Hold| bytes.start < other.bytes.end && other.bytes.start < bytes.end;
        if holds.all.iter().any(|other| (writes || other.writes) && overlaps(other)) {
            return Err(InteropError::InUse.into());
        }
        holds.next += 1;
        let number = holds.next;
        holds.all.push(Hold { number, bytes, writes });
        Ok(Held(number))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HOLDS.lock().all.retain(|hold| hold.number != self.0);
    }
}
