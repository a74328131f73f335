//! How threads synchronise: divergent barriers, masks that do not fit, mbarriers that are misused.
//!
//! This is the scheduler's own state, seen once more: what costs anything is done where lanes wait, part or exit. Mistakes
//! after which no thread could go on are faults, and reported elsewhere.

use crate::check::arrivals::{Arrival, SyncHistory};

use crate::base::lanes::{BARRIERS, lanes_of};
use crate::check::notes::Actor;
use crate::check::transactions::Transactions;
use crate::machine::block::{Barrier, BlockState};
use crate::machine::op::Pc;
use crate::machine::warp::{Wait, Warp};
use rumba_checks::FindingKind;

const WAITS: &str = "barrier";
pub(crate) const EXITS: &str = "exit";
const ELSEWHERE: &str = "something else";
const SYNC: &str = "operation of the mask";

/// Waits at mbarriers that fail in a row, with nothing else in between, until they count as in vain.
pub(crate) const VAIN: u32 = 10_000;
/// Operations between two of them that are no more than a loop that asks.
const ASKING: u64 = 256;

/// Where one of the lanes of a warp exited.
fn exit_of(sync_history: &SyncHistory, warp: &Warp, lanes: u32) -> Option<Actor> {
    let found = sync_history.exits.iter().find(|(of, gone, _)| *of == warp.index && gone & lanes != 0)?;
    Some(warp.actor(found.2, found.1 & lanes, EXITS))
}

/// What the operation at `pc` of waiting lanes is; see [`crate::exec::schedule::back`].
fn instruction(pc: Pc, wait: Wait) -> Option<u32> {
    let pc = crate::exec::schedule::back(pc, Some(wait));
    (!pc.is_stop()).then(|| pc.source)
}

impl Warp {
    /// The history of the block, if this check is on.
    #[allow(clippy::mut_from_ref, reason = "as for the block: one warp runs at a time")]
    pub(crate) fn sync_history(&self) -> Option<&mut SyncHistory> {
        // SAFETY: the block outlives its warps' turns and is not read elsewhere meanwhile.
        unsafe { (*self.block).sync_history.as_deref_mut() }
    }

    /// The position of one of these lanes, if they are not the active lanes.
    pub(crate) fn whereabouts(&self, lanes: u32) -> Option<Actor> {
        if lanes == 0 {
            return None;
        }
        let split = self.splits.iter().find(|split| split.mask & lanes != 0);
        if let Some(split) = split {
            let what = match split.wait {
                Wait::Barrier { .. } | Wait::BarrierResult { .. } => WAITS,
                Wait::Lanes { .. } | Wait::AnyLanes { .. } => SYNC,
                Wait::Ready
                | Wait::Cluster { .. }
                | Wait::Grid { .. }
                | Wait::Choice
                | Wait::Products { .. }
                | Wait::Columns { .. } => ELSEWHERE,
            };
            let source = instruction(split.pc, split.wait)?;
            return Some(self.actor(source, split.mask & lanes, what));
        }
        exit_of(self.sync_history()?, self, lanes)
    }

    /// The active lanes exit at an instruction.
    pub(crate) fn record_exit(&self, source: u32) {
        if let Some(sync_history) = self.sync_history() {
            sync_history.exit(self.index, self.active, source);
            self.record_end(source);
        }
    }

    /// Lanes arrive at a barrier.
    pub(crate) fn record_arrival(&self, pc: Pc, id: usize, phase: u32, lanes: u32, aligned: bool) {
        let Some(sync_history) = self.sync_history() else {
            return;
        };
        let arrival = Arrival { warp: self.index, lanes, source: pc.source, aligned, phase };
        sync_history.used |= 1 << id;
        let whole = &mut sync_history.whole[id][self.index as usize];
        let is_again =
            |earlier: &&Arrival| earlier.phase == phase && earlier.warp == self.index && earlier.lanes & lanes != 0;
        if let Some(earlier) = whole.iter().chain(&sync_history.partial[id]).find(is_again) {
            let again = earlier.lanes & lanes;
            let other = self.actor(earlier.source, again, "first arrival");
            let actor = self.actor(pc.source, again, "second arrival");
            self.note(FindingKind::RepeatedArrival, actor, Some(other), || {
                format!("barrier {id}, where others are still to come")
            });
        } else if aligned && lanes == self.live {
            *whole = Some(arrival);
            return;
        }
        sync_history.partial[id].push(arrival);
    }

    /// A mask names lanes that have exited.
    #[cold]
    pub(crate) fn check_exited_lanes(&self, source: u32, lanes: u32, members: u32) {
        let Some(sync_history) = self.sync_history() else {
            return;
        };
        let missing = members & sync_history.gone(self.index, self.live);
        if missing != 0 {
            let other = exit_of(sync_history, self, missing);
            self.note(FindingKind::ExitedLanes, self.actor(source, lanes, SYNC), other, || {
                format!("the mask {members:#010x} names lanes {missing:#010x}, which have exited")
            });
        }
    }

    /// Lanes give a mask that they are not in.
    #[cold]
    pub(crate) fn check_mask_without_caller(&self, source: u32, lanes: u32, members: u32) {
        if self.sync_history().is_some() {
            self.note(FindingKind::MaskWithoutCaller, self.actor(source, lanes, SYNC), None, || {
                format!("lanes {lanes:#010x} give the mask {members:#010x}")
            });
        }
    }

    /// Lanes come to an operation with a mask, and wait because others do not come with them.
    #[cold]
    pub(crate) fn check_mask_mismatch(&self, source: u32, lanes: u32, members: u32, active: u32) {
        if self.sync_history().is_none() {
            return;
        }
        let strangers = active & members & !lanes;
        let detail = |strangers: u32| {
            format!(
                "lanes {lanes:#010x} give the mask {members:#010x}, and lanes {strangers:#010x}, which it names, give another"
            )
        };
        if strangers != 0 {
            let (actor, other) = (self.actor(source, lanes, SYNC), self.actor(source, strangers, SYNC));
            return self.note(FindingKind::MaskMismatch, actor, Some(other), || detail(strangers));
        }
        // Lanes that wait for each other with different masks wait for ever.
        for split in &self.splits {
            let (Wait::Lanes { members: theirs } | Wait::AnyLanes { members: theirs }) = split.wait else {
                continue;
            };
            if theirs != members
                && split.mask & members != 0
                && theirs & lanes != 0
                && let Some(at) = instruction(split.pc, split.wait)
            {
                let strangers = split.mask & members;
                let other = self.actor(at, strangers, SYNC);
                self.note(FindingKind::MaskMismatch, self.actor(source, lanes, SYNC), Some(other), || {
                    detail(strangers)
                });
            }
        }
    }

    /// Lanes of `readers` read in a shuffle from lanes that take no part in it, `sources`.
    #[cold]
    pub(crate) fn check_shuffle_source(&self, source: u32, readers: u32, sources: u32) {
        if self.sync_history().is_some() {
            let other = self.whereabouts(sources);
            self.note(FindingKind::ShuffleSource, self.actor(source, readers, "shuffle"), other, || {
                format!("lanes {readers:#010x} read lanes {sources:#010x}")
            });
        }
    }

    /// Lanes part at an instruction that promises that they do not.
    #[cold]
    pub(crate) fn check_uniform(&self, source: u32, some: u32, others: u32) {
        if self.sync_history().is_some() {
            let (actor, other) = (self.actor(source, some, "one way"), self.actor(source, others, "another way"));
            self.note(FindingKind::DivergentUniform, actor, Some(other), || {
                format!("lanes {some:#010x} go one way and lanes {others:#010x} another")
            });
        }
    }

    /// An mbarrier is initialised.
    pub(crate) fn check_mbarrier_init(&self, pc: Pc, lane: usize, object: u64, in_use: bool) {
        let Some(sync_history) = self.sync_history() else {
            return;
        };
        let actor = self.actor(pc.source, 1 << lane, "initialisation");
        if in_use {
            let other = sync_history.initialised.get(&object).copied();
            self.note(FindingKind::MbarrierInUse, actor, other, || {
                "it was not invalidated since it was initialised".into()
            });
        }
        sync_history.initialised.insert(object, actor);
        sync_history.mbarriers.insert(object, Transactions::default());
        sync_history.invalidated.remove(&object);
    }

    /// Lanes have asked an mbarrier for a phase that has not ended.
    pub(crate) fn record_failed_wait(&mut self) {
        if self.sync_history().is_none() {
            return;
        }
        // SAFETY: the block is not in use elsewhere while one of its warps runs.
        let changes = unsafe { (*self.block).mbarrier_changes };
        let now = self.executed();
        self.mbarrier_polls.record(now, changes, ASKING);
    }

    /// An mbarrier is invalidated.
    pub(crate) fn record_invalidation(&self, pc: Pc, lane: usize, object: u64) {
        if let Some(sync_history) = self.sync_history() {
            sync_history.initialised.remove(&object);
            sync_history.mbarriers.remove(&object);
            let actor = self.actor(pc.source, 1 << lane, "invalidation");
            sync_history.invalidated.insert(object, actor);
        }
    }
}

/// Looks at barriers that were completed, given the warps of the block.
///
/// The warps look at their block meanwhile, so no reference to the whole of it is held.
///
/// # Safety
/// The block is alive, and none of its warps runs.
#[cold]
pub(crate) unsafe fn completed(state: *mut BlockState, warps: &[Warp], completed: u32) {
    for id in (0..BARRIERS).filter(|id| completed >> id & 1 != 0) {
        // SAFETY: the caller's promise.
        let barrier = unsafe { (*state).barriers[id] };
        // SAFETY: as above.
        let Some(sync_history) = (unsafe { (*state).sync_history.as_deref_mut() }) else {
            return;
        };
        if sync_history.partial[id].is_empty() && sync_history.exits.is_empty() {
            continue;
        }
        let arrivals = sync_history.arrivals(id, barrier.phase.wrapping_sub(1));
        sync_history.partial[id].retain(|arrival| arrival.phase == barrier.phase);
        examine(id, &barrier, &arrivals, sync_history, warps);
    }
}

fn examine(id: usize, barrier: &Barrier, arrivals: &[Arrival], sync_history: &SyncHistory, warps: &[Warp]) {
    for warp in warps {
        let own = || arrivals.iter().filter(|arrival| arrival.warp == warp.index);
        let Some(first) = own().find(|arrival| arrival.aligned) else {
            continue;
        };
        let actor = warp.actor(first.source, first.lanes, WAITS);
        if let Some(other) = own().find(|arrival| arrival.source != first.source && arrival.lanes & first.lanes == 0) {
            let elsewhere = warp.actor(other.source, other.lanes, WAITS);
            warp.note(FindingKind::DivergentBarrier, actor, Some(elsewhere), || {
                format!("lanes of one warp come to barrier {id} at different instructions")
            });
            continue;
        }
        let arrived = own().fold(0, |lanes, arrival| lanes | arrival.lanes);
        let missing = warp.live & !arrived;
        if missing != 0 {
            let running = (warp.active & missing != 0 && !warp.pc.is_stop())
                .then(|| warp.actor(warp.pc.source, warp.active & missing, ELSEWHERE));
            let actor = warp.actor(first.source, arrived, WAITS);
            warp.note(FindingKind::DivergentBarrier, actor, warp.whereabouts(missing).or(running), || {
                format!("barrier {id}: lanes {arrived:#010x} of the warp come, lanes {missing:#010x} do not")
            });
        }
    }
    // Threads that have exited, of a barrier for all or of a warp that is counted as a whole.
    let absent = |warp: &Warp| {
        let own = arrivals.iter().filter(|arrival| arrival.warp == warp.index);
        let came = own.fold(0, |lanes, arrival| lanes | arrival.lanes);
        if barrier.last_expected == 0 || came != 0 { sync_history.gone(warp.index, warp.live) & !came } else { 0 }
    };
    let Some(gone) = warps.iter().find_map(|warp| exit_of(sync_history, warp, absent(warp))) else {
        return;
    };
    let Some((first, warp)) = arrivals.first().and_then(|first| Some((first, warps.get(first.warp as usize)?))) else {
        return;
    };
    let actor = warp.actor(first.source, first.lanes, WAITS);
    warp.note(FindingKind::ExitBeforeBarrier, actor, Some(gone), || {
        let missing: u32 = warps.iter().map(|warp| absent(warp).count_ones()).sum();
        let threads = barrier.result.0;
        format!("barrier {id}: {threads} threads come, and {missing} that should have exited")
    });
}

/// Looks at barriers that were never completed, when the block has ended.
#[cold]
pub(crate) fn abandoned(state: &BlockState, warps: &[Warp]) {
    let Some(sync_history) = state.sync_history.as_deref() else {
        return;
    };
    for id in lanes_of(u32::from(sync_history.used)) {
        let barrier = &state.barriers[id];
        if barrier.threads == 0 {
            continue;
        }
        let arrivals = sync_history.arrivals(id, barrier.phase);
        if let Some(left) = arrivals.first()
            && let Some(warp) = warps.get(left.warp as usize)
        {
            let actor = warp.actor(left.source, left.lanes, "arrival");
            warp.note(FindingKind::AbandonedBarrier, actor, None, || {
                format!("barrier {id}, where {} of {} threads arrived", barrier.threads, barrier.expected)
            });
        }
    }
}
