//! Accesses that are noted elsewhere as long as nothing can race with them, and become records of cells before the first access that can:
//! reads of regions without writes, as patterns ([`crate::check::reads`]) or in logs ([`crate::check::log`]), and strong accesses to regions
//! without other accesses, in logs.

use crate::check::batch::put_lanes;
use crate::check::cells::Cells;
use crate::check::clock::VectorClock;
use crate::check::log::LoggedAccess;
use crate::check::order::Scope;
use crate::check::reads::{GroupAccess, Noted, Pattern};
use crate::check::record::{Conflict, Record, View};

impl Cells {
    /// Notes reads by all lanes of a warp, if no write can race with them yet.
    #[inline(always)]
    pub(super) fn note(&mut self, reads: &GroupAccess) -> bool {
        !self.keeps && self.reads.note(reads)
    }

    /// Notes a read without a stride by those lanes with whose reads no write can race yet; returns the other lanes.
    #[inline(always)]
    pub(super) fn log_read(&mut self, access: LoggedAccess, host: impl Fn(usize) -> u64) -> u32 {
        if self.keeps { access.lanes } else { self.reads.log_read(access, host) }
    }

    /// Notes a strong access by those lanes with whose accesses nothing can race yet; returns the other lanes.
    #[inline(always)]
    pub(super) fn log_strong(&mut self, access: LoggedAccess, host: impl Fn(usize) -> u64) -> u32 {
        // Operations of other proxies also ask for accesses that the block knows of.
        if self.uses_proxies || self.cluster != 1 || !access.record.is_harmless(Scope::Block) {
            return access.lanes;
        }
        self.reads.log_strong(access, self.launches.whole(), host)
    }

    /// Makes the noted accesses of a region records, before an access to it that may race with them.
    #[cold]
    #[inline(never)]
    pub(super) fn put_noted(&mut self, noted: &Noted, found: &mut Vec<Conflict>) {
        // Of other blocks, nothing needs to be known: no earlier write of the region is unordered.
        let nothing = VectorClock::default();
        for reads in noted.patterns.iter().flat_map(Pattern::reads) {
            let view = View { block: reads.block, warp: 0, plain: true, known: &nothing, proxy: None };
            if !self.put_in_short(&reads, &view, found) {
                let what = (reads.lanes, reads.bytes.into(), true);
                put_lanes(self, (&reads.record, &view), what, |lane| reads.host(lane), found);
            }
        }
        for (access, offsets) in noted.log.accesses() {
            let LoggedAccess { record, bytes, lanes, .. } = access;
            let what = (*lanes, (*bytes).into(), true);
            let host = |lane: usize| noted.start + u64::from(offsets[lane]);
            self.put_each((record, &access.view(&nothing)), what, host, found);
        }
    }

    /// Puts an access by lanes, each at a host address, of so many bytes. Lanes share a record if they may.
    pub(super) fn put_each(
        &mut self,
        (record, view): (&Record, &View<'_>),
        (lanes, bytes, may_share): (u32, u64, bool),
        host: impl Fn(usize) -> u64,
        found: &mut Vec<Conflict>,
    ) {
        let lanes = self.not_left_out(record, lanes, &host);
        put_lanes(self, (record, view), (lanes, bytes, may_share), host, found);
    }
}
