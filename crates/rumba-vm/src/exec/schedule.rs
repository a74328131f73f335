//! The scheduling of a warp's lanes: divergence, reconvergence, waiting, taking turns.
//!
//! A warp that has diverged is a list of splits. Those lanes run first that stand at the lowest position, because blocks
//! are ordered so that they then meet the others as early as possible (see [`crate::load::cfg`]). Lanes that run for long
//! without merging with others go to the back of the queue: every lane makes progress, even if it waits for another lane of
//! its own warp. A warp that has not diverged pays one comparison per block for all this.
//!
//! Barriers between warps and turns of warps and blocks are not decided here but in [`crate::run::block`].

use std::cmp::Ordering;
use std::sync::atomic;

use crate::machine::op::Pc;
use crate::machine::warp::{Frames, Split, Stop, Wait, Warp};

/// Operations that lanes may execute while others of their warp could, too.
const TURN: i32 = 16 * 1024;

impl Warp {
    /// Continues at the start of a block, after an operation that ends one.
    #[inline(always)]
    pub(crate) fn enter(&mut self, cost: u16, target: Pc) -> Pc {
        self.fuel.left -= i32::from(cost);
        if self.fuel.left < 0 || target.as_ptr() >= self.merge_at {
            return self.arrive(target);
        }
        target
    }

    /// Continues at `target` after asking whether others should run first.
    #[cold]
    #[inline(never)]
    pub(crate) fn arrive(&mut self, target: Pc) -> Pc {
        let takes_turns = self.fuel.left < 0 && !self.splits.is_empty();
        if takes_turns {
            self.turn += 1;
        }
        // A warp that rests has no budget left, on every engine.
        let rests = self.fuel.is_turn_over();
        self.fuel.settle();
        if !rests && (takes_turns || self.fuel.is_turn_over()) {
            self.context().variance.turns.store(true, atomic::Ordering::Relaxed);
        }
        if self.fuel.is_turn_over() {
            self.pc = target;
            self.stop = Stop::Turn;
            return Pc::STOP;
        }
        self.reschedule(target)
    }

    /// Starts or continues a turn of `budget` operations.
    pub(crate) fn resume(&mut self, budget: i32) -> Pc {
        self.fuel.begin(budget);
        self.stop = Stop::Turn;
        if self.active == 0 { self.pick() } else { self.reschedule(self.pc) }
    }

    /// Sends the lanes of `taken` to `target` and the other active lanes to `other`.
    #[cold]
    #[inline(never)]
    pub(crate) fn diverge(&mut self, branch: Pc, taken: u32, target: Pc, other: Pc) -> Pc {
        self.fuel.left -= i32::from(branch.d);
        let (near, near_mask, far, far_mask) = if target.as_ptr() < other.as_ptr() {
            (target, taken, other, self.active & !taken)
        } else {
            (other, self.active & !taken, target, taken)
        };
        if branch.c != 0 && self.follows_chance() && self.chance.below(2) == 0 {
            // The lanes that would come second run one block; then the scheduler decides again which lanes run.
            self.put(near, near_mask, Wait::Ready);
            self.active = far_mask;
            self.prepare();
            return far;
        }
        self.put(far, far_mask, Wait::Ready);
        self.active = near_mask;
        if self.fuel.left < 0 { self.arrive(near) } else { self.reschedule(near) }
    }

    /// Adds a split with the frames of the active lanes, or lets it join one that waits for the same at the same place.
    pub(crate) fn put(&mut self, pc: Pc, mask: u32, wait: Wait) {
        let frames = &self.frames;
        let known =
            self.splits.iter_mut().find(|split| split.pc == pc && split.wait == wait && split.frames == *frames);
        match known {
            Some(split) => {
                split.mask |= mask;
                split.turn = 0;
            }
            None => {
                let split = Split { pc, mask, turn: self.turn, wait, frames: self.frames.clone() };
                self.splits.push(split);
            }
        }
    }

    /// Chooses who runs: the active lanes, which stand at `target`, or others.
    pub(crate) fn reschedule(&mut self, target: Pc) -> Pc {
        if self.splits.is_empty() {
            self.merge_at = usize::MAX as *const _;
            self.fuel.refill(i32::MAX);
            return self.join(target);
        }
        let mut index = 0;
        while index < self.splits.len() {
            let split = &self.splits[index];
            if split.wait == Wait::Ready && split.pc == target && split.frames == self.frames {
                self.active |= split.mask;
                self.behind &= !split.mask;
                self.turn = 0;
                self.splits.swap_remove(index);
                self.observe_merge(self.active);
            } else {
                index += 1;
            }
        }
        if self.behind != 0
            && let Some(left) = self.left_behind()
        {
            return self.exchange(target, left);
        }
        let current = (self.turn, Position { frames: &self.frames, pc: target });
        let best = self.best().filter(|best| {
            let split = &self.splits[*best];
            (split.turn, Position { frames: &split.frames, pc: split.pc }) < current
        });
        match best {
            None => {
                self.prepare();
                self.join(target)
            }
            Some(best) => self.exchange(target, best),
        }
    }

    /// Lets a split run instead of the active lanes, which stand at `target`.
    fn exchange(&mut self, target: Pc, split: usize) -> Pc {
        let mine = Split {
            pc: target,
            mask: self.active,
            turn: self.turn,
            wait: Wait::Ready,
            frames: std::mem::take(&mut self.frames),
        };
        let split = std::mem::replace(&mut self.splits[split], mine);
        self.take(split)
    }

    /// A ready split whose lanes have been overtaken by other lanes of the warp.
    #[cold]
    fn left_behind(&self) -> Option<usize> {
        self.splits.iter().position(|split| split.wait == Wait::Ready && split.mask & self.behind != 0)
    }

    /// Chooses who runs when the active lanes do not.
    pub(crate) fn pick(&mut self) -> Pc {
        self.active = 0;
        match self.best() {
            Some(best) => {
                let split = self.splits.swap_remove(best);
                self.take(split)
            }
            None => {
                self.fuel.settle();
                self.stop = if self.live == 0 { Stop::Done } else { Stop::Blocked };
                Pc::STOP
            }
        }
    }

    /// The split that should run first.
    fn best(&self) -> Option<usize> {
        let ready = self.splits.iter().enumerate().filter(|(_, split)| split.wait == Wait::Ready);
        ready
            .min_by(|(_, a), (_, b)| {
                let key = |split| -> (u32, Position<'_>) {
                    let split: &Split = split;
                    (split.turn, Position { frames: &split.frames, pc: split.pc })
                };
                key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal)
            })
            .map(|(index, _)| index)
    }

    fn take(&mut self, split: Split) -> Pc {
        self.active = split.mask;
        self.behind &= !split.mask;
        self.turn = split.turn;
        self.frames = split.frames;
        let mut index = 0;
        while index < self.splits.len() {
            let other = &self.splits[index];
            if other.wait == Wait::Ready && other.pc == split.pc && other.frames == self.frames {
                self.active |= other.mask;
                self.behind &= !other.mask;
                self.turn = 0;
                self.splits.swap_remove(index);
                self.observe_merge(self.active);
            } else {
                index += 1;
            }
        }
        self.prepare();
        self.join(split.pc)
    }

    /// Continues at `target` in the fastest available engine.
    #[inline]
    fn join(&mut self, target: Pc) -> Pc {
        if self.tier.native.is_null() { target } else { self.join_native(target) }
    }

    /// Whether lanes diverge and are scheduled by chance: in a run with a seed, unless the block has native code.
    pub(crate) fn follows_chance(&self) -> bool {
        self.context().seed.is_some() && self.tier.native.is_null()
    }

    /// Lets some of the active lanes run ahead of the others, up to the start of the next block.
    pub(crate) fn part(&mut self, target: Pc, ahead: u32) -> Pc {
        let behind = self.active & !ahead;
        self.put(target, behind, Wait::Ready);
        self.active = ahead;
        self.behind |= behind;
        self.prepare();
        target
    }

    /// Finds out where the active lanes meet others, and lets them run.
    fn prepare(&mut self) {
        let depth = self.frames.len();
        let mut merge_at = usize::MAX;
        let mut alone = true;
        for split in self.splits.iter().filter(|split| split.wait == Wait::Ready) {
            alone = false;
            let common = split.frames.iter().zip(&self.frames).take_while(|(a, b)| a == b).count();
            if common == depth {
                let position = split.frames.get(depth).unwrap_or(&split.pc);
                merge_at = merge_at.min(position.as_ptr() as usize);
            }
        }
        // Those who ran ahead ask at the start of the next block.
        self.merge_at = if self.behind == 0 { merge_at } else { 0 } as *const _;
        self.fuel.refill(if alone { i32::MAX } else { TURN });
    }

    /// Ends the active lanes, at an instruction.
    pub(crate) fn exit_active(&mut self, source: u32) -> Pc {
        self.record_exit(source);
        self.observe_exit();
        for groups in [&mut self.copies, &mut self.bulk_copies] {
            if !groups.is_empty() {
                // SAFETY: the addresses passed the access check when the copies were begun.
                unsafe { groups.wait_all(self.active) };
            }
        }
        self.live &= !self.active;
        // SAFETY: the block outlives its warps' turns and is not read elsewhere meanwhile.
        unsafe { (*self.block).exited(self.index, self.active) };
        self.release_lanes();
        self.pick()
    }

    /// Lets the active lanes wait and others run. The wait is over at `pc`.
    pub(crate) fn park(&mut self, pc: Pc, wait: Wait) -> Pc {
        self.put(pc, self.active, wait);
        self.release_lanes();
        self.pick()
    }

    /// Lets some of the active lanes wait, which go on at `pc` like the others.
    pub(crate) fn park_some(&mut self, pc: Pc, waiting: u32, wait: Wait) -> Pc {
        if waiting == self.active {
            return self.park(pc, wait);
        }
        if waiting != 0 {
            self.put(pc, waiting, wait);
            self.active &= !waiting;
        }
        if self.splits.is_empty() { pc } else { self.reschedule(pc) }
    }

    /// Wakes the splits whose awaited lanes have all arrived.
    pub(crate) fn release_lanes(&mut self) {
        for index in 0..self.splits.len() {
            let split = &self.splits[index];
            match split.wait {
                Wait::Lanes { members } => {
                    // Splits at the same operation with the same mask have joined already.
                    if members & self.live & !split.mask == 0 {
                        self.splits[index].wait = Wait::Ready;
                    }
                }
                Wait::AnyLanes { members } => {
                    let wait = split.wait;
                    let present: u32 =
                        self.splits.iter().filter(|other| other.wait == wait).map(|other| other.mask).sum();
                    if members & self.live & !present == 0 {
                        self.observe_warp_sync(present);
                        if members != present {
                            let source = crate::exec::schedule::back(split.pc, Some(wait)).source;
                            self.check_exited_lanes(source, split.mask, members);
                        }
                        for other in self.splits.iter_mut().filter(|other| other.wait == wait) {
                            other.wait = Wait::Ready;
                        }
                    }
                }
                Wait::Ready
                | Wait::Barrier { .. }
                | Wait::BarrierResult { .. }
                | Wait::Cluster { .. }
                | Wait::Grid { .. }
                | Wait::Choice
                | Wait::Products { .. }
                | Wait::Columns { .. } => {}
            }
        }
    }
}

/// A position in a program, with the calls that lead there.
#[derive(PartialEq, Eq)]
struct Position<'a> {
    frames: &'a Frames,
    pc: Pc,
}

impl PartialOrd for Position<'_> {
    /// The order as if every call were inlined: operations inside of a call come before its return.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let path = |position: &Self| -> Vec<usize> {
            let frames = position.frames.iter();
            frames.chain(std::iter::once(&position.pc)).map(|pc| pc.as_ptr() as usize).collect()
        };
        if self.frames.is_empty() && other.frames.is_empty() {
            return (self.pc.as_ptr() as usize).partial_cmp(&(other.pc.as_ptr() as usize));
        }
        let (mine, theirs) = (path(self), path(other));
        for (a, b) in mine.iter().zip(&theirs) {
            match a.cmp(b) {
                Ordering::Equal => {}
                unequal => return Some(unequal),
            }
        }
        // The deeper one is on its way to where the other one stands.
        Some(theirs.len().cmp(&mine.len()))
    }
}

/// The operation that lanes wait at: those at barriers go on behind it.
pub(crate) fn back(pc: Pc, wait: Option<Wait>) -> Pc {
    match wait {
        Some(
            Wait::Barrier { .. }
            | Wait::AnyLanes { .. }
            | Wait::Cluster { .. }
            | Wait::Grid { .. }
            | Wait::Products { .. },
        ) => Pc::new(pc.as_ptr().wrapping_sub(1)),
        Some(Wait::Ready | Wait::Lanes { .. } | Wait::BarrierResult { .. } | Wait::Choice | Wait::Columns { .. })
        | None => pc,
    }
}
