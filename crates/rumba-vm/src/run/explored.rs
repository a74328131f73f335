//! A launch whose orders are explored: all of its blocks at once, on one worker, one synchronising operation at a time.
//!
//! [`crate::explore::tree`] decides which operation comes next; this module executes it, and reports its effect to the
//! tree. A block ends as soon as it can, and all blocks are resident from the beginning: a launch with more blocks than
//! can be resident together is not explored.

use std::sync::MutexGuard;

use crate::base::flow::Set;
use crate::check::race::BarrierPhase;
use crate::exec::choice;
use crate::exec::sync;
use crate::explore::event::{Access, Effect, Left, Object, Process, Role};
use crate::explore::past::Pasts;
use crate::explore::tree::{Candidate, Next, View};
use crate::explore::{Exploration, State, Step};
use crate::machine::block::BlockState;
use crate::machine::context::Context;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::program::ChoiceKind;
use crate::machine::warp::{Split, Stop, Wait};
use crate::mem::atomic::Element;
use crate::run::faults::{deadlock, describe};
use crate::run::progress::{Done, Progress, exhausted};
use crate::run::worker::Worker;

/// The largest number of blocks of an explored launch.
pub(crate) const MOST_BLOCKS: u64 = 32;

/// The number of operations between two points of choice after which other warps get a turn, too.
const LONG: u64 = 1 << 22;

/// The position of a candidate.
#[derive(Clone, Copy)]
enum Position {
    Lanes { resident: usize, warp: usize, split: usize },
    Copy { resident: usize, number: u32 },
}

struct Run<'a, 'c> {
    context: &'a Context<'c>,
    progress: &'a Progress,
    worker: &'a mut Worker,
    state: MutexGuard<'a, State>,
    number: u32,
    residents: Vec<usize>,
    /// Residents whose blocks have ended, and warps that were at fault.
    ended: Vec<usize>,
    dead: Vec<(usize, usize)>,
    done: Done,
}

/// Runs a launch in the order that the exploration wants.
pub(crate) fn work(context: &Context<'_>, progress: &Progress, worker: &mut Worker, exploration: &Exploration) {
    let mut state = exploration.state();
    if state.is_left {
        progress.halt("the order is not explored further");
        return;
    }
    let number = state.launches;
    state.launches += 1;
    if let Some(mut pasts) = pasts(context) {
        *pasts = Pasts::new(state.tree.events().len(), state.copies);
    }
    let initial = worker.reset(context);
    let mut residents = Vec::new();
    let size = u64::from(context.cluster_size());
    for cluster in 0..context.blocks() / size {
        let coordinates = context.cluster_coordinates(cluster);
        match worker.begin(&initial, (cluster * size, coordinates), None) {
            Ok(members) => residents.extend(members),
            Err(error) => {
                progress.halt(&format!("the system refused memory for all blocks at once: {error}"));
                state.limit(format!("a launch of `{}` could not be begun", context.program.name));
                return;
            }
        }
    }
    let mut run = Run {
        context,
        progress,
        worker,
        state,
        number,
        residents,
        ended: Vec::new(),
        dead: Vec::new(),
        done: Done::default(),
    };
    run.all();
    run.done.tell(context, progress);
    if let Some(pasts) = pasts(context) {
        run.state.copies = pasts.next_copy;
    }
}

/// The happens-before order of the launch.
fn pasts<'a>(context: &'a Context<'_>) -> Option<MutexGuard<'a, Pasts<BarrierPhase>>> {
    context.monitor.and_then(crate::check::monitor::Monitor::pasts)
}

impl Run<'_, '_> {
    fn all(&mut self) {
        loop {
            let is_settled = self.settle();
            if self.ended.len() == self.residents.len() {
                return;
            }
            self.done.tell(self.context, self.progress);
            if self.progress.is_halted() {
                return;
            }
            if self.state.is_too_long() {
                let (most, name) = (self.state.most_steps(), &self.context.program.name);
                let last = self.state.steps.last().map_or_else(String::new, ToString::to_string);
                let reason =
                    format!("an order of `{name}` was left after the bound of {most} operations; the last: {last}");
                return self.leave(reason.clone(), Some(reason));
            }
            let (places, candidates, enabled) = self.candidates();
            match self.state.tree.choose(candidates, enabled) {
                Next::Step(choice) => self.step(places[choice]),
                Next::Stuck if !is_settled || self.meet(true) => {}
                Next::Stuck => return self.deadlocked(),
                Next::Explored => return self.leave("the order is equivalent to one that was explored".into(), None),
                Next::Changed => {
                    let name = &self.context.program.name;
                    let reason = format!("`{name}` did something else when the same order was run again");
                    return self.leave(reason.clone(), Some(reason));
                }
            }
        }
    }

    /// Abandons the order.
    fn leave(&mut self, message: String, limit: Option<String>) {
        self.state.is_left = true;
        if let Some(reason) = limit {
            self.state.limit(reason);
        }
        self.progress.halt(&message);
    }

    fn block_state(&self, resident: usize) -> &BlockState {
        // SAFETY: no warp runs, and later changes go through the pointer when this borrow is over.
        unsafe { &*self.worker.known(resident).block.state }
    }

    fn is_dead(&self, resident: usize, warp: usize) -> bool {
        self.dead.contains(&(resident, warp))
    }

    /// Lets all warps run up to their next points of choice. Returns whether all reached them.
    fn settle(&mut self) -> bool {
        let mut executed = 0;
        loop {
            let mut moved = false;
            for resident in self.residents.clone() {
                if self.ended.contains(&resident) {
                    continue;
                }
                for warp in 0..self.worker.resident(resident).block.warps.len() {
                    if self.worker.resident(resident).block.warps[warp].stop == Stop::Turn
                        && !self.is_dead(resident, warp)
                    {
                        moved = true;
                        executed += self.turn(resident, warp);
                    }
                }
                self.end(resident);
            }
            moved = moved || self.meet(false);
            if !moved {
                return true;
            }
            if executed > LONG || self.progress.is_halted() {
                let name = &self.context.program.name;
                self.state.limit(format!(
                    "threads of `{name}` execute more than {LONG} operations between two that synchronise"
                ));
                return false;
            }
        }
    }

    /// Runs a warp for a turn, and wakes the threads that waited for its effects. Returns the number of operations
    /// executed.
    fn turn(&mut self, resident: usize, warp: usize) -> u64 {
        let block = &mut self.worker.resident(resident).block;
        let executed = block.run_warp(warp);
        if let Some(fault) = block.warps[warp].fault.take() {
            self.fault(resident, warp, *fault);
        }
        self.done.operations += executed;
        if let Some(message) = exhausted(self.context, self.progress.executed() + self.done.operations) {
            self.progress.halt(&message);
        }
        // Barriers of the cluster and of the grid may have been completed in other blocks.
        if self.block_state(resident).completed != 0 {
            for other in self.residents.clone() {
                if !self.ended.contains(&other) {
                    self.worker.resident(other).block.release();
                }
            }
        }
        executed
    }

    /// Notes a mistake of a warp, which stops there. Other warps continue: other orders may put their operations before
    /// the mistake.
    fn fault(&mut self, resident: usize, warp: usize, fault: RawFault) {
        self.dead.push((resident, warp));
        let resident = self.worker.resident(resident);
        let fault = describe(self.context, &resident.block, warp as u32, fault, Vec::new());
        let index = resident.index;
        self.progress.first_fault(index, fault);
    }

    /// Ends a block whose threads have exited.
    fn end(&mut self, resident: usize) {
        let one = self.worker.resident(resident);
        if one.block.warps.iter().any(|warp| warp.stop != Stop::Done) {
            return;
        }
        let index = one.index as u32;
        sync::abandoned(self.block_state(resident), &self.worker.known(resident).block.warps);
        self.context.observe_end(index);
        self.done.blocks += 1;
        self.ended.push(resident);
        self.worker.finish(resident);
    }

    /// Lets lanes continue that wait for other lanes of their warp to catch up, if none are left behind, or, with
    /// `any`, in any case.
    fn meet(&mut self, any: bool) -> bool {
        let mut moved = false;
        for resident in self.residents.clone() {
            if !self.ended.contains(&resident) {
                for warp in 0..self.worker.resident(resident).block.warps.len() {
                    moved |= self.meet_in(resident, warp, any);
                }
            }
        }
        moved
    }

    fn meet_in(&mut self, resident: usize, warp: usize, any: bool) -> bool {
        if self.is_dead(resident, warp) {
            return false;
        }
        let context = self.context;
        let splits = &self.worker.resident(resident).block.warps[warp].splits;
        let behind = |split: &Split| {
            let mut others = splits.iter();
            others.any(|other| other.wait == Wait::Choice && other.pc.as_ptr() < split.pc.as_ptr())
        };
        let goes = |split: &Split| {
            split.wait == Wait::Choice
                && match choice::point(context, split.pc).kind {
                    ChoiceKind::Meet => any || !behind(split),
                    ChoiceKind::Unexplored => true,
                    ChoiceKind::Done
                    | ChoiceKind::Memory { .. }
                    | ChoiceKind::Mbarrier { .. }
                    | ChoiceKind::Barrier => false,
                }
        };
        let Some(split) = splits.iter().position(goes) else {
            return false;
        };
        let point = choice::point(context, splits[split].pc);
        if point.kind == ChoiceKind::Unexplored {
            self.state.limit(format!("what `{}` finds is that of one order", point.text));
        }
        self.grant(resident, warp, split);
        true
    }

    /// Lets a split continue after the point of choice where it waits.
    fn grant(&mut self, resident: usize, warp: usize, split: usize) {
        let warp = &mut self.worker.resident(resident).block.warps[warp];
        let split = &mut warp.splits[split];
        split.pc = split.pc.next();
        split.wait = Wait::Ready;
        warp.stop = Stop::Turn;
    }

    /// The candidates at points of choice, and the set of those that can continue.
    fn candidates(&mut self) -> (Vec<Position>, Vec<Candidate>, Set) {
        let (mut places, mut candidates) = (Vec::new(), Vec::new());
        let first = self.context.program.ops.as_ptr() as usize;
        for resident in self.residents.clone() {
            if self.ended.contains(&resident) {
                continue;
            }
            let index = self.worker.resident(resident).index as u32;
            for (number, warp) in self.worker.resident(resident).block.warps.iter().enumerate() {
                if self.dead.contains(&(resident, number)) {
                    continue;
                }
                let mut splits: Vec<usize> = (0..warp.splits.len()).collect();
                splits.sort_by_key(|split| warp.splits[*split].mask.trailing_zeros());
                for split in splits {
                    let one = &warp.splits[split];
                    if one.wait != Wait::Choice {
                        continue;
                    }
                    let point = choice::point(self.context, one.pc);
                    if matches!(point.kind, ChoiceKind::Meet | ChoiceKind::Done | ChoiceKind::Unexplored) {
                        continue;
                    }
                    let mut accesses = choice::accesses(warp, one, point, index);
                    let past = pasts(self.context).map(|mut pasts| {
                        for access in &mut accesses {
                            if let Effect::Phase { phase, .. } = &mut access.effect {
                                *phase = pasts.phase_of(&access.object);
                            }
                        }
                        pasts.of_lanes(index, number as u32, one.mask)
                    });
                    let view = past.map(|past| View {
                        at: ((one.pc.as_ptr() as usize - first) / 32) as u64,
                        past: self.state.tree.hash_of(&past),
                        found: choice::contents(&accesses),
                    });
                    places.push(Position::Lanes { resident, warp: number, split });
                    candidates.push(Candidate {
                        process: Process::Lanes {
                            launch: self.number,
                            block: index,
                            warp: number as u32,
                            mask: one.mask,
                        },
                        accesses,
                        view: view.filter(|_| point.kind != ChoiceKind::Barrier),
                    });
                }
            }
            for tracked in &self.block_state(resident).tracked {
                let number = tracked.number;
                places.push(Position::Copy { resident, number });
                candidates.push(Candidate {
                    process: Process::Copy { number },
                    accesses: vec![arrival(tracked.barrier, 0)],
                    view: None,
                });
            }
        }
        self.state.tree.look_back(&candidates, |candidate| {
            let own = pasts(self.context).map(|mut pasts| match candidate.process {
                Process::Lanes { block, warp, mask, .. } => pasts.of_lanes(block, warp, mask),
                Process::Copy { number } => pasts.of_copy(number),
            });
            own.unwrap_or_default()
        });
        let mut enabled = Set::none(candidates.len());
        for (index, candidate) in candidates.iter().enumerate() {
            if !self.state.tree.is_vain(candidate) {
                enabled.insert(index);
            }
        }
        (places, candidates, enabled)
    }

    fn step(&mut self, place: Position) {
        match place {
            Position::Lanes { resident, warp, split } => self.lanes(resident, warp, split),
            Position::Copy { resident, number } => self.copy(resident, number),
        }
    }

    /// Lets lanes execute the operation behind the point of choice where they wait, and what follows up to the next.
    fn lanes(&mut self, resident: usize, warp: usize, split: usize) {
        let (context, number) = (self.context, self.number);
        let index = self.worker.resident(resident).index as u32;
        let this = &self.worker.resident(resident).block.warps[warp];
        let Split { pc, mask, .. } = this.splits[split];
        let frames = this.splits[split].frames.clone();
        let point = choice::point(context, pc);
        let accesses = choice::accesses(this, &this.splits[split], point, index);
        let values = choice::live(this, mask, point);
        let found = choice::contents(&accesses);
        let before = others(this.splits.iter(), split);
        let at = (pc.as_ptr() as usize - context.program.ops.as_ptr() as usize) / 32;
        let process = Process::Lanes { launch: number, block: index, warp: warp as u32, mask };
        let Some(mut known) = pasts(context) else { return };
        let saved = known.copy_of(index, warp as u32);
        let own = known.of_lanes(index, warp as u32, mask);
        let phases: Vec<u32> = accesses.iter().map(|access| known.phase_of(&access.object)).collect();
        drop(known);
        let is_barrier = point.kind == ChoiceKind::Barrier;
        if !is_barrier {
            self.grant(resident, warp, split);
            while self.worker.resident(resident).block.warps[warp].stop == Stop::Turn {
                self.turn(resident, warp);
            }
        }
        let is_fault = self.is_dead(resident, warp);
        let done: Vec<(Access, Left)> = accesses
            .iter()
            .zip(&phases)
            .map(|(access, phase)| self.happened(resident, access, (*phase, found), is_fault))
            .collect();
        let is_same = found == choice::contents(&accesses) && !done.iter().any(|(_, left)| left.ended);
        let past = self.state.tree.add(process, at as u64, done, own);
        if let Some(mut pasts) = pasts(context) {
            pasts.set_lanes(index, warp as u32, mask, &past);
            pasts.has_met = false;
        }
        self.tell(resident, (warp as u32, mask), pc.source, &point.text);
        if is_fault {
            return;
        }
        let this = &mut self.worker.resident(resident).block.warps[warp];
        this.wrote = false;
        let is_done =
            |split: &Split| split.wait == Wait::Choice && choice::point(context, split.pc).kind == ChoiceKind::Done;
        let next = if is_barrier { Some(split) } else { this.splits.iter().position(is_done) };
        if let Some(next) = next {
            self.grant(resident, warp, next);
        }
        loop {
            while self.worker.resident(resident).block.warps[warp].stop == Stop::Turn && !self.is_dead(resident, warp) {
                let executed = self.turn(resident, warp);
                if executed > LONG || self.progress.is_halted() {
                    return;
                }
            }
            if !self.meet_in(resident, warp, false) {
                break;
            }
        }
        if is_barrier || !is_same || self.is_dead(resident, warp) {
            return;
        }
        let this = &self.worker.resident(resident).block.warps[warp];
        let back = |split: &Split| {
            split.pc == pc && split.mask == mask && split.wait == Wait::Choice && split.frames == frames
        };
        let Some(again) = this.splits.iter().position(back) else {
            return;
        };
        let has_met = pasts(context).is_none_or(|pasts| pasts.has_met);
        let is_idle = !this.wrote && !has_met && values == choice::live(this, mask, point);
        if is_idle && before == others(this.splits.iter(), again) {
            self.state.tree.take_back();
            self.state.steps.pop();
            if let Some(mut pasts) = pasts(context) {
                pasts.restore(index, warp as u32, saved);
            }
        }
    }

    /// The actual effect of an operation on an object, given the object's phase before it.
    fn happened(&self, resident: usize, access: &Access, (phase, found): (u32, u64), is_fault: bool) -> (Access, Left) {
        let mut access = *access;
        let mut left = Left { arrivals: 0, ended: false };
        if is_fault {
            access.effect = Effect::All;
            return (access, left);
        }
        let is_same = found == choice::contents(&[access]);
        match (&mut access.effect, access.object) {
            (Effect::Writes | Effect::Combines(_), Object::Memory { .. }) if is_same => {
                access.effect = Effect::Reads;
            }
            (Effect::Phase { phase: of, .. }, Object::Mbarrier(address)) => {
                let now = pasts(self.context).map_or(phase, |pasts| pasts.phase_of(&access.object));
                *of = phase;
                left = Left { arrivals: choice::mbarrier(address).pending, ended: now != phase };
                if now > phase + 1 {
                    access.effect = Effect::All;
                }
            }
            (Effect::Phase { phase: of, count, expected, .. }, Object::Barrier { id, .. }) if id < 16 => {
                let state = self.block_state(resident);
                let barrier = &state.barriers[id as usize];
                *of = barrier.phase;
                let wanted = if *expected == 0 { state.live_threads } else { *expected };
                let arrivals = wanted.saturating_sub(barrier.threads + *count);
                left = Left { arrivals, ended: arrivals == 0 };
            }
            _ => {}
        }
        (access, left)
    }

    /// Lets a copy arrive.
    fn copy(&mut self, resident: usize, number: u32) {
        let state = self.worker.resident(resident).block.state;
        // SAFETY: no warp runs.
        let tracked = unsafe { &mut (*state).tracked };
        let Some(one) = tracked.iter().position(|one| one.number == number) else {
            return;
        };
        let one = tracked.remove(one);
        // SAFETY: the addresses passed the access check when the copy was begun.
        unsafe { one.delivery.arrive() };
        // SAFETY: as above.
        let block = unsafe { (*state).number };
        self.context.observe_delivery(block, one.barrier, one.operation);
        let object = Object::Mbarrier(one.barrier);
        let (phase, own) =
            pasts(self.context).map_or_else(Default::default, |pasts| (pasts.phase_of(&object), pasts.of_copy(number)));
        let mut mbarrier = choice::mbarrier(one.barrier);
        let before = mbarrier;
        // SAFETY: as above.
        let is_valid = unsafe { (*state).mbarriers.contains(&one.barrier) };
        let outcome = if is_valid {
            mbarrier.complete(one.delivery.bytes())
        } else {
            Err("a copy arrives at an mbarrier that is no longer valid".to_owned())
        };
        match outcome {
            Ok(()) => {
                // SAFETY: the mbarrier lies in shared memory, which is this worker's alone.
                unsafe { u64::write(one.barrier, mbarrier.to_bits()) };
                // SAFETY: no warp runs.
                let history = unsafe { (*state).sync_history.as_deref_mut() };
                if let Some(known) = history.and_then(|history| history.mbarriers.get_mut(&one.barrier)) {
                    known.change(mbarrier.has_left(before));
                }
                if mbarrier.has_left(before) {
                    self.context.observe_phase(one.barrier);
                }
            }
            Err(message) => {
                let fault = RawFault::new(FaultKind::Synchronisation, 0, 0, message);
                let resident = self.worker.resident(resident);
                let fault = describe(self.context, &resident.block, 0, fault, Vec::new());
                self.progress.first_fault(resident.index, fault);
            }
        }
        let left = Left { arrivals: mbarrier.pending, ended: mbarrier.has_left(before) };
        let process = Process::Copy { number };
        let access = arrival(one.barrier, phase);
        self.state.tree.add(process, 0, vec![(access, left)], own);
        let bytes = one.delivery.bytes();
        self.tell(resident, (0, 0), 0, &format!("{bytes} bytes of a copy arrive"));
    }

    /// Notes an operation of the order.
    fn tell(&mut self, resident: usize, (warp, mask): (u32, u32), source: u32, text: &str) {
        let debug = &self.context.program.debug;
        let (ptx, ptx_line) = debug.ptx(source);
        let block = self.worker.resident(resident).block.coordinates;
        self.state.steps.push(Step {
            block,
            thread: self.context.thread(warp, mask.trailing_zeros() % 32),
            threads: mask.count_ones(),
            operation: text.to_owned(),
            locations: if mask == 0 { Vec::new() } else { debug.locations(source) },
            ptx: if mask == 0 { String::new() } else { ptx },
            ptx_line: if mask == 0 { 0 } else { ptx_line },
        });
    }

    /// No thread can continue.
    fn deadlocked(&mut self) {
        if !self.dead.is_empty() || self.progress.has_failed() {
            return;
        }
        let mut left = self.residents.iter().filter(|resident| !self.ended.contains(resident));
        if let Some(resident) = left.next() {
            let fault = deadlock(self.context, self.worker, *resident, false);
            let index = self.worker.resident(*resident).index;
            self.progress.first_fault(index, fault);
        }
    }
}

/// Bytes that come to an mbarrier.
fn arrival(barrier: u64, phase: u32) -> Access {
    Access {
        object: Object::Mbarrier(barrier),
        effect: Effect::Phase { role: Role::Arrives, phase, count: 0, expected: 0 },
    }
}

/// Where the other lanes of a warp are.
fn others<'a>(splits: impl Iterator<Item = &'a Split>, but: usize) -> Vec<(*const crate::machine::op::Op, u32, Wait)> {
    let others = splits.enumerate().filter(|(index, _)| *index != but);
    let mut places: Vec<_> = others.map(|(_, split)| (split.pc.as_ptr(), split.mask, split.wait)).collect();
    places.sort_by_key(|(_, mask, _)| *mask);
    places
}
