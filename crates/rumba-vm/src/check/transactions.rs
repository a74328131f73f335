//! The history of an mbarrier: the bytes it expects, the bytes that copies bring, and the ended phases that threads
//! have seen.

use rustc_hash::FxHashMap;

use crate::check::notes::Actor;

/// The history of an mbarrier.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    /// Bytes that were expected and that were announced, and where last.
    pub(crate) expected: u64,
    pub(crate) brought: u64,
    pub(crate) expect: Option<Actor>,
    pub(crate) copy: Option<Actor>,
    /// Phases that have ended, and whether something has happened in the phase under way.
    phases: u32,
    begun: bool,
    /// The number of phases that had ended when a thread, by warp and lane, last went on, and where that was.
    seen: FxHashMap<(u32, usize), (u32, Actor)>,
}

impl Transactions {
    /// The mbarrier has changed.
    pub(crate) fn change(&mut self, ends_phase: bool) {
        self.phases += u32::from(ends_phase);
        self.begun = !ends_phase;
    }

    /// A thread continues because a phase has ended.
    pub(crate) fn pass(&mut self, lane: usize, actor: Actor) {
        self.seen.insert((actor.warp, lane), (self.phases, actor));
    }

    /// The earlier wait of a thread that waits again for an ended phase, if it passed that wait and the next phase has
    /// begun.
    pub(crate) fn passed_before(&self, warp: u32, lane: usize) -> Option<Actor> {
        let (phases, earlier) = self.seen.get(&(warp, lane))?;
        (*phases == self.phases && self.begun).then_some(*earlier)
    }
}
