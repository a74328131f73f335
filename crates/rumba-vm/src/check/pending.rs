//! Memory of asynchronous copies that are under way: nobody may touch what they write, or change what they read, until
//! their thread has waited for them.
//!
//! What orders the threads after that wait is told in [`super::race`]. Here an operation before each load and store looks
//! at the copies of the block; only functions that begin copies, and only launches that look for races, have it.

use std::ops::Range;

use crate::check::finding::FindingKind;
use crate::check::memory::Space;
use crate::check::notes::Actor;
use crate::instrument::{Probe, Rewriter};
use crate::isa::instruction::Memory;
use crate::lower::{Function, Node};
use crate::op::{Handlers, Pc};
use crate::warp::{Warp, lanes_of};

/// A copy that was begun.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    actor: Actor,
    pub(crate) lane: usize,
    /// Host addresses.
    pub(crate) to: Range<u64>,
    from: Range<u64>,
    /// The mbarrier that tracks it, if it is not one of a group.
    pub(crate) barrier: Option<u64>,
}

/// A [`Probe`].
const LOOK: Handlers = Handlers::same(look);

/// Lets loads and stores of a function look at copies, if it begins some.
pub(crate) fn watch(function: &mut Function<'_>) {
    let mut occurrences = function.occurrences.values();
    if !occurrences.any(|occurrence| occurrence.instruction.memory == Memory::Copies) {
        return;
    }
    let mut out = Rewriter::default();
    for node in std::mem::take(&mut function.nodes) {
        if let Node::Op { draft, source, .. } = &node
            && let Some(probe) = Probe::before(draft, LOOK)
        {
            out.insert(probe, *source);
        }
        out.keep(node);
    }
    function.nodes = out.finish();
}

unsafe fn look(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the block outlives its warps' turns and is not looked at by anybody else meanwhile.
    let flights = unsafe { &(*warp.block).flights };
    if flights.is_empty() {
        return pc.next();
    }
    let Probe { space, bytes, stores } = Probe::of(&pc);
    let base = match space {
        Space::Shared => warp.shared_base,
        Space::Generic | Space::Global => 0,
        Space::Const | Space::Param | Space::Local => return pc.next(),
    };
    // SAFETY: the operation is a probe of the warp's program.
    let addresses = unsafe { Probe::addresses(warp, &pc) };
    for lane in lanes_of(warp.active) {
        let start = base.wrapping_add(addresses[lane]);
        let overlaps = |range: &Range<u64>| start < range.end && range.start < start.saturating_add(bytes);
        let met = flights
            .iter()
            .find(|flight| overlaps(&flight.to) || stores && overlaps(&flight.from));
        let Some(flight) = met else { continue };
        let what = if stores { "write" } else { "read" };
        let actor = warp.actor(pc.source, 1 << lane, what);
        warp.note(FindingKind::PendingCopy, actor, Some(flight.actor), || {
            let (end, bytes) = if overlaps(&flight.to) {
                ("destination", flight.to.end - flight.to.start)
            } else {
                ("source", flight.from.end - flight.from.start)
            };
            format!("the {end} of a copy of {bytes} bytes that was not waited for")
        });
    }
    pc.next()
}

impl Warp {
    /// A lane begins a copy between host addresses.
    pub(crate) fn begin_flight(&mut self, pc: Pc, lane: usize, to: Range<u64>, from: Range<u64>, barrier: Option<u64>) {
        if self.context().seeks_races() {
            let actor = self.actor(pc.source, 1 << lane, "copy");
            let flight = Flight {
                actor,
                lane,
                to,
                from,
                barrier,
            };
            // SAFETY: the block is not in use by anybody else while one of its warps runs.
            unsafe { (*self.block).flights.push(flight) };
        }
    }

    /// Copies of the warp's groups may have arrived.
    pub(crate) fn land_groups(&mut self) {
        let (copies, bulk) = (&self.copies, &self.bulk_copies);
        // SAFETY: as above.
        let flights = unsafe { &mut (*self.block).flights };
        flights.retain(|flight| {
            let to = flight.to.start;
            flight.actor.warp != self.index
                || flight.barrier.is_some()
                || copies.holds(flight.lane, to)
                || bulk.holds(flight.lane, to)
        });
    }
}
