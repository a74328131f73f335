//! Accesses to a region of memory that cannot race with each other, as a log: either strong accesses, which are atomic for each other, or
//! reads without a stride. Before the first access that may race with them, the accesses of the log become records of cells
//! ([`crate::check::noted`]).
//!
//! [`crate::check::reads`] says when a log begins and ends.

use crate::base::lanes::{FULL, LANES, lanes_of};
use crate::check::clock::VectorClock;
use crate::check::record::{Record, View};
use crate::mem::arena::Window;

/// An access by lanes of a warp with the same past. The lanes of a strong access know of no other block; of a read, nobody asks what its lanes
/// know of other blocks, as no earlier write is unordered.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoggedAccess {
    /// The access, without lanes and bytes.
    pub(super) record: Record,
    /// The epochs of all threads of the block, and of the warp, that the lanes know.
    pub(super) known: [u32; 2],
    /// Bytes of a lane.
    pub(super) bytes: u32,
    pub(super) lanes: u32,
}

impl LoggedAccess {
    /// What the lanes know, given the clock of threads that know nothing.
    pub(super) fn view<'a>(&self, nothing: &'a VectorClock) -> View<'a> {
        let [block, warp] = self.known;
        View { block, warp, plain: true, known: nothing, proxy: None }
    }
}

/// The accesses to a region since its log began, in their order: all of them strong, or all of them reads that are not.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Each with the addresses of its lanes, from the start of the region.
    accesses: Vec<(LoggedAccess, [u32; LANES])>,
    /// Whether any of them writes.
    writes: bool,
    /// Whether the first one is strong.
    is_strong: bool,
}

impl Log {
    pub(super) fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    pub(super) fn writes(&self) -> bool {
        self.writes
    }

    /// Whether it has strong accesses.
    pub(super) fn is_of_strong(&self) -> bool {
        !self.is_empty() && self.is_strong
    }

    /// Whether it takes in accesses that are strong, or not.
    pub(super) fn may_have(&self, are_strong: bool) -> bool {
        self.is_empty() || self.is_strong == are_strong
    }

    /// Whether it had accesses before.
    pub(super) fn has_memory(&self) -> bool {
        self.accesses.capacity() != 0
    }

    pub(super) fn clear(&mut self) {
        self.accesses.clear();
        self.writes = false;
    }

    /// Adds an access by those of its lanes that access the region alone; returns these lanes.
    #[inline(always)]
    pub(super) fn add(&mut self, mut access: LoggedAccess, region: &Window, host: impl Fn(usize) -> u64) -> u32 {
        let Some(most) = (region.end - region.start).checked_sub(access.bytes.into()) else { return 0 };
        let mut offsets = [0; LANES];
        let mut are_inside = access.lanes == FULL;
        if are_inside {
            for (lane, place) in offsets.iter_mut().enumerate() {
                let offset = host(lane).wrapping_sub(region.start);
                are_inside &= offset <= most;
                *place = offset as u32;
            }
        }
        let mut inside = FULL;
        if !are_inside {
            inside = 0;
            for lane in lanes_of(access.lanes) {
                let offset = host(lane).wrapping_sub(region.start);
                inside |= u32::from(offset <= most) << lane;
                offsets[lane] = offset as u32;
            }
        }
        access.lanes = inside;
        if inside != 0 {
            self.is_strong = access.record.is_strong();
            self.accesses.push((access, offsets));
            self.writes |= !access.record.is_read();
        }
        inside
    }

    /// The accesses with the offsets of their lanes in the region.
    pub(super) fn accesses(&self) -> &[(LoggedAccess, [u32; LANES])] {
        &self.accesses
    }
}
