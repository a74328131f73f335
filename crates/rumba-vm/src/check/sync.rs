//! How threads synchronise: divergent barriers, masks that do not fit, mbarriers that are misused.
//!
//! This is the scheduler's own state, seen once more: what costs anything is done where lanes wait, part or exit. Mistakes
//! after which nobody could go on are faults and told elsewhere.

use std::collections::HashMap;

use crate::block::{BARRIERS, Barrier, BlockState, MAX_WARPS, mask_of};
use crate::check::finding::FindingKind;
use crate::check::notes::Actor;
use crate::op::Pc;
use crate::warp::{LANES, Wait, Warp, lanes_of};

const WAITS: &str = "barrier";
const EXITS: &str = "exit";
const ELSEWHERE: &str = "something else";
const SYNC: &str = "operation of the mask";

/// Waits at mbarriers that fail in a row, with nothing else in between, until they count as in vain.
pub(crate) const VAIN: u32 = 10_000;
/// Operations between two of them that are no more than a loop that asks.
const ASKING: u64 = 256;

/// Lanes that arrived at a barrier.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    warp: u32,
    lanes: u32,
    source: u32,
    /// Whether all lanes of the warp have to execute the instruction together.
    aligned: bool,
    phase: u32,
}

/// What is remembered of a block that runs.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    threads: u32,
    /// By barrier and warp, the last arrival of all lanes at once.
    whole: [[Option<Arrival>; MAX_WARPS]; BARRIERS],
    /// Barriers that somebody arrived at.
    used: u16,
    /// Arrivals of parts of warps, or by instructions for single threads.
    partial: [Vec<Arrival>; BARRIERS],
    /// Lanes that have exited: warp, lanes, instruction.
    exits: Vec<(u32, u32, u32)>,
    /// Where mbarriers were initialised.
    initialised: HashMap<u64, Actor>,
    /// Where mbarriers were invalidated.
    pub(crate) invalidated: HashMap<u64, Actor>,
}

impl Watch {
    /// A block of `threads` threads begins.
    pub(crate) fn begin(&mut self, threads: u32) {
        self.threads = threads;
        for id in lanes_of(u32::from(std::mem::take(&mut self.used))) {
            self.whole[id] = [None; MAX_WARPS];
            self.partial[id].clear();
        }
        self.exits.clear();
        self.initialised.clear();
        self.invalidated.clear();
    }

    /// The arrivals at a barrier in a phase, warp by warp.
    fn arrivals(&self, id: usize, phase: u32) -> Vec<Arrival> {
        let all = self.whole[id].iter().flatten().chain(&self.partial[id]);
        let mut all: Vec<_> = all.filter(|arrival| arrival.phase == phase).copied().collect();
        all.sort_by_key(|arrival| arrival.warp);
        all
    }

    /// The lanes that a warp began with.
    fn lanes_of_warp(&self, warp: u32) -> u32 {
        mask_of(self.threads.saturating_sub(warp * LANES as u32))
    }

    /// Lanes of a warp that were there once and have exited.
    pub(crate) fn gone(&self, warp: &Warp) -> u32 {
        self.lanes_of_warp(warp.index) & !warp.live
    }

    /// Notes that lanes exit.
    pub(crate) fn exit(&mut self, warp: u32, lanes: u32, source: u32) {
        match self
            .exits
            .iter_mut()
            .find(|(known, _, at)| *known == warp && *at == source)
        {
            Some((_, known, _)) => *known |= lanes,
            None => self.exits.push((warp, lanes, source)),
        }
    }

    /// Where one of the lanes of a warp exited.
    fn exit_of(&self, warp: &Warp, lanes: u32) -> Option<Actor> {
        let found = self
            .exits
            .iter()
            .find(|(of, gone, _)| *of == warp.index && gone & lanes != 0)?;
        Some(warp.actor(found.2, found.1 & lanes, EXITS))
    }
}

/// What the operation at `pc` of waiting lanes is; see [`crate::block::back`].
fn instruction(pc: Pc, wait: Wait) -> Option<u32> {
    let pc = crate::block::back(pc, Some(wait));
    (!pc.is_stop()).then(|| pc.source)
}

impl Warp {
    /// What is remembered of the block, if this check is on.
    #[allow(clippy::mut_from_ref, reason = "as for the block: one warp runs at a time")]
    pub(crate) fn watch(&self) -> Option<&mut Watch> {
        // SAFETY: the block outlives its warps' turns and is not looked at by anybody else meanwhile.
        unsafe { (*self.block).watch.as_deref_mut() }
    }

    /// Where one of these lanes is, if they are not those that run.
    fn whereabouts(&self, lanes: u32) -> Option<Actor> {
        if lanes == 0 {
            return None;
        }
        let split = self.splits.iter().find(|split| split.mask & lanes != 0);
        if let Some(split) = split {
            let what = match split.wait {
                Wait::Barrier { .. } | Wait::BarrierResult { .. } => WAITS,
                Wait::Lanes { .. } | Wait::AnyLanes { .. } => SYNC,
                Wait::Ready | Wait::Cluster { .. } | Wait::Grid { .. } => ELSEWHERE,
            };
            let source = instruction(split.pc, split.wait)?;
            return Some(self.actor(source, split.mask & lanes, what));
        }
        self.watch()?.exit_of(self, lanes)
    }

    /// The active lanes exit at an instruction.
    pub(crate) fn watch_exit(&self, source: u32) {
        if let Some(watch) = self.watch() {
            watch.exit(self.index, self.active, source);
        }
    }

    /// Lanes arrive at a barrier.
    pub(crate) fn watch_arrival(&self, pc: Pc, id: usize, phase: u32, lanes: u32, aligned: bool) {
        let Some(watch) = self.watch() else { return };
        let arrival = Arrival {
            warp: self.index,
            lanes,
            source: pc.source,
            aligned,
            phase,
        };
        watch.used |= 1 << id;
        let whole = &mut watch.whole[id][self.index as usize];
        let is_again =
            |earlier: &&Arrival| earlier.phase == phase && earlier.warp == self.index && earlier.lanes & lanes != 0;
        if let Some(earlier) = whole.iter().chain(&watch.partial[id]).find(is_again) {
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
        watch.partial[id].push(arrival);
    }

    /// A mask names lanes that have exited.
    #[cold]
    pub(crate) fn watch_mask(&self, source: u32, lanes: u32, members: u32) {
        let Some(watch) = self.watch() else { return };
        let missing = members & watch.gone(self);
        if missing != 0 {
            let other = watch.exit_of(self, missing);
            self.note(FindingKind::ExitedLanes, self.actor(source, lanes, SYNC), other, || {
                format!("the mask {members:#010x} names lanes {missing:#010x}, which have exited")
            });
        }
    }

    /// Lanes give a mask that they are not in.
    #[cold]
    pub(crate) fn watch_strangers(&self, source: u32, lanes: u32, members: u32) {
        if self.watch().is_some() {
            self.note(
                FindingKind::MaskWithoutCaller,
                self.actor(source, lanes, SYNC),
                None,
                || format!("lanes {lanes:#010x} give the mask {members:#010x}"),
            );
        }
    }

    /// Lanes come to an operation with a mask, and wait because others do not come with them.
    #[cold]
    pub(crate) fn watch_partners(&self, source: u32, lanes: u32, members: u32, active: u32) {
        if self.watch().is_none() {
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
                self.note(
                    FindingKind::MaskMismatch,
                    self.actor(source, lanes, SYNC),
                    Some(other),
                    || detail(strangers),
                );
            }
        }
    }

    /// Lanes of `readers` read in a shuffle from lanes that take no part in it, `sources`.
    #[cold]
    pub(crate) fn watch_shuffle(&self, source: u32, readers: u32, sources: u32) {
        if self.watch().is_some() {
            let other = self.whereabouts(sources);
            self.note(
                FindingKind::ShuffleSource,
                self.actor(source, readers, "shuffle"),
                other,
                || format!("lanes {readers:#010x} read lanes {sources:#010x}"),
            );
        }
    }

    /// Lanes part at an instruction that promises that they do not.
    #[cold]
    pub(crate) fn watch_uniform(&self, source: u32, some: u32, others: u32) {
        if self.watch().is_some() {
            let (actor, other) = (
                self.actor(source, some, "one way"),
                self.actor(source, others, "another way"),
            );
            self.note(FindingKind::DivergentUniform, actor, Some(other), || {
                format!("lanes {some:#010x} go one way and lanes {others:#010x} another")
            });
        }
    }

    /// An mbarrier is initialised.
    pub(crate) fn watch_init(&self, pc: Pc, lane: usize, object: u64, in_use: bool) {
        let Some(watch) = self.watch() else { return };
        let actor = self.actor(pc.source, 1 << lane, "initialisation");
        if in_use {
            let other = watch.initialised.get(&object).copied();
            self.note(FindingKind::MbarrierInUse, actor, other, || {
                "it was not invalidated since it was initialised".into()
            });
        }
        watch.initialised.insert(object, actor);
        watch.invalidated.remove(&object);
    }

    /// Lanes have asked an mbarrier for a phase that has not ended.
    pub(crate) fn watch_failed_wait(&mut self) {
        if self.watch().is_none() {
            return;
        }
        // SAFETY: the block is not in use by anybody else while one of its warps runs.
        let changes = unsafe { (*self.block).mbarrier_changes };
        let now = self.executed();
        let (before, then) = self.failed_at;
        self.failed_waits = if then == changes && now.saturating_sub(before) <= ASKING {
            self.failed_waits.saturating_add(1)
        } else {
            1
        };
        self.failed_at = (now, changes);
    }

    /// An mbarrier is invalidated.
    pub(crate) fn watch_inval(&self, pc: Pc, lane: usize, object: u64) {
        if let Some(watch) = self.watch() {
            watch.initialised.remove(&object);
            let actor = self.actor(pc.source, 1 << lane, "invalidation");
            watch.invalidated.insert(object, actor);
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
        let Some(watch) = (unsafe { (*state).watch.as_deref_mut() }) else {
            return;
        };
        if watch.partial[id].is_empty() && watch.exits.is_empty() {
            continue;
        }
        let arrivals = watch.arrivals(id, barrier.phase.wrapping_sub(1));
        watch.partial[id].retain(|arrival| arrival.phase == barrier.phase);
        examine(id, &barrier, &arrivals, watch, warps);
    }
}

fn examine(id: usize, barrier: &Barrier, arrivals: &[Arrival], watch: &Watch, warps: &[Warp]) {
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
            warp.note(
                FindingKind::DivergentBarrier,
                actor,
                warp.whereabouts(missing).or(running),
                || format!("barrier {id}: lanes {arrived:#010x} of the warp come, lanes {missing:#010x} do not"),
            );
        }
    }
    // Threads that have exited, of a barrier for all or of a warp that is counted as a whole.
    let absent = |warp: &Warp| {
        let own = arrivals.iter().filter(|arrival| arrival.warp == warp.index);
        let came = own.fold(0, |lanes, arrival| lanes | arrival.lanes);
        if barrier.last_expected == 0 || came != 0 {
            watch.gone(warp) & !came
        } else {
            0
        }
    };
    let Some(gone) = warps.iter().find_map(|warp| watch.exit_of(warp, absent(warp))) else {
        return;
    };
    let Some((first, warp)) = arrivals
        .first()
        .and_then(|first| Some((first, warps.get(first.warp as usize)?)))
    else {
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
    let Some(watch) = state.watch.as_deref() else { return };
    for id in lanes_of(u32::from(watch.used)) {
        let barrier = &state.barriers[id];
        if barrier.threads == 0 {
            continue;
        }
        let arrivals = watch.arrivals(id, barrier.phase);
        if let Some(left) = arrivals.first()
            && let Some(warp) = warps.get(left.warp as usize)
        {
            let actor = warp.actor(left.source, left.lanes, "arrival");
            warp.note(FindingKind::AbandonedBarrier, actor, None, || {
                format!(
                    "barrier {id}, where {} of {} threads arrived",
                    barrier.threads, barrier.expected
                )
            });
        }
    }
}
