//! The clocks of the lanes of running warps, and the clocks that threads bring to the barriers where they meet.
//!
//! Lanes of a warp usually have the same past, and then share one clock. [`crate::check::race`] says when clocks
//! change.

use std::sync::Arc;

use crate::base::lanes::{LANES, lanes_of};
use crate::check::clock::{Thread, VectorClock};
use crate::check::order::{SCOPES, Scope};
use crate::check::proxy::AGENT;
use crate::check::published::WideClocks;
use crate::check::record::View;

/// The thread of a lane.
pub(super) fn thread(block: u32, warp: u8, lane: usize) -> Thread {
    Thread { block, index: (usize::from(warp) * LANES + lane) as u16 }
}

/// The clock that a fence made ready to be published.
#[derive(Clone)]
pub(super) struct FenceClock {
    pub(super) known: Arc<VectorClock>,
    pub(super) warp: u32,
    pub(super) epoch: u32,
    pub(super) scope: Scope,
}

/// The clock of one thread, or of several threads with the same past.
#[derive(Clone)]
pub(super) struct ThreadState {
    pub(super) epoch: u32,
    pub(super) known: Arc<VectorClock>,
    /// The epoch that all threads of the own warp are known to have reached.
    pub(super) warp: u32,
    /// The epoch that all threads of the own block are known to have reached, by `known`, and whether `known` has no
    /// other entry.
    pub(super) block: u32,
    pub(super) plain: bool,
    /// The clock that the last fence made ready: later atomic writes release it.
    pub(super) fenced: Option<FenceClock>,
    /// The clocks that atomic reads have seen, which the next fence acquires: by the narrowest scope around this block
    /// that includes the releasing block, which the fence has to have.
    pub(super) seen: [Option<Arc<VectorClock>>; SCOPES],
    /// The clocks of the last fence of sequential consistency of the thread, of such fences of other threads before the
    /// last barrier, and of such fences seen by atomic reads.
    pub(super) sequential_fence: Option<FenceClock>,
    pub(super) sequential: WideClocks,
    pub(super) sequential_seen: WideClocks,
}

impl ThreadState {
    /// The clock of a thread that begins, with what comes before the launch.
    pub(super) fn fresh(before: &Arc<VectorClock>) -> Self {
        Self {
            epoch: 1,
            known: Arc::clone(before),
            warp: 0,
            block: 0,
            plain: before.is_empty(),
            fenced: None,
            seen: Default::default(),
            sequential_fence: None,
            sequential: WideClocks::default(),
            sequential_seen: WideClocks::default(),
        }
    }

    /// Whether no clock is ready to be published or acquired.
    fn is_bare(&self) -> bool {
        self.fenced.is_none()
            && self.seen.iter().all(Option::is_none)
            && self.sequential.is_empty()
            && self.sequential_seen.is_empty()
    }

    /// Whether two states have equal clocks and the same past.
    pub(super) fn agrees(&self, other: &Self) -> bool {
        self.epoch == other.epoch && self.warp == other.warp && Arc::ptr_eq(&self.known, &other.known)
    }

    pub(super) fn view(&self) -> View<'_> {
        View { block: self.block, warp: self.warp, plain: self.plain, known: &self.known, proxy: None }
    }

    pub(super) fn set_known(&mut self, known: Arc<VectorClock>, block: u32) {
        (self.block, self.plain) = known.of_block(block);
        self.known = known;
    }

    pub(super) fn acquire(&mut self, known: &Arc<VectorClock>, block: u32) {
        if !Arc::ptr_eq(&self.known, known) {
            let mut mine = Arc::clone(&self.known);
            Arc::make_mut(&mut mine).join(known);
            self.set_known(mine, block);
        }
    }

    /// A fence: earlier accesses are ready to be published, and later accesses belong to a new epoch.
    pub(super) fn release(&mut self, scope: Scope) {
        self.fenced = Some(FenceClock { known: Arc::clone(&self.known), warp: self.warp, epoch: self.epoch, scope });
        self.epoch += 1;
    }
}

impl FenceClock {
    /// The clock that the fence releases for a thread.
    pub(super) fn of(&self, thread: Thread) -> Arc<VectorClock> {
        let mut known = VectorClock::clone(&self.known);
        if self.warp > 0 {
            known.advance_warp(thread, self.warp);
        }
        known.advance(thread, self.epoch);
        Arc::new(known)
    }

    /// The clock that the fence releases for all threads of a warp, given the first thread.
    pub(super) fn of_warp(&self, first: Thread) -> Arc<VectorClock> {
        let mut known = VectorClock::clone(&self.known);
        known.advance_warp(first, self.epoch.max(self.warp));
        Arc::new(known)
    }
}

/// The states of the lanes of a warp.
pub(super) struct WarpState {
    /// The state that all lanes share, unless `lanes` has one for each lane.
    pub(super) whole: ThreadState,
    pub(super) lanes: Option<Box<[ThreadState]>>,
    /// Whether the states of the lanes differ.
    pub(super) apart: bool,
    /// The existing lanes.
    pub(super) mask: u32,
}

impl WarpState {
    pub(super) fn lanes(&mut self) -> &mut [ThreadState] {
        let whole = &self.whole;
        self.lanes.get_or_insert_with(|| vec![whole.clone(); LANES].into())
    }

    pub(super) fn clock(&self, lane: usize) -> &ThreadState {
        self.lanes.as_ref().map_or(&self.whole, |lanes| &lanes[lane])
    }

    /// Applies a function to the state of each lane of a mask, with the lane's number; once, for lane 0, if all lanes
    /// share one state.
    pub(super) fn each(&mut self, mask: u32, mut change: impl FnMut(usize, &mut ThreadState)) {
        if self.lanes.is_none() && mask == self.mask {
            return change(0, &mut self.whole);
        }
        let lanes = self.lanes();
        lanes_of(mask).for_each(|lane| change(lane, &mut lanes[lane]));
        self.compare();
    }

    /// Updates whether the states of the lanes differ.
    pub(super) fn compare(&mut self) {
        let Some(lanes) = &self.lanes else { return };
        let first = &lanes[0];
        self.apart = !lanes_of(self.mask).all(|lane| lanes[lane].agrees(first));
        let is_bare = |lane: usize| lanes[lane].is_bare();
        if !self.apart && lanes_of(self.mask).all(is_bare) {
            self.whole = first.clone();
            self.lanes = None;
        }
    }

    /// The lanes of a mask whose state equals that of the mask's first lane.
    pub(super) fn agreeing(&self, mask: u32) -> u32 {
        if !self.apart {
            return mask;
        }
        let first = self.clock(mask.trailing_zeros() as usize);
        lanes_of(mask).filter(|lane| self.clock(*lane).agrees(first)).fold(0, |all, lane| all | 1 << lane)
    }

    /// What its lanes know of other threads.
    pub(super) fn knowledge(&self) -> impl Iterator<Item = &Arc<VectorClock>> {
        let lanes = self.lanes.as_deref().unwrap_or(std::slice::from_ref(&self.whole));
        lanes.iter().map(|clock| &clock.known)
    }

    pub(super) fn has_fenced(&self) -> bool {
        match &self.lanes {
            None => self.whole.fenced.is_some(),
            Some(lanes) => lanes.iter().any(|clock| clock.fenced.is_some()),
        }
    }

    /// Whether an atomic write of a lane may publish something.
    pub(super) fn publishes(&self) -> bool {
        let publishes = |clock: &ThreadState| clock.fenced.is_some() || !clock.sequential.is_empty();
        match &self.lanes {
            None => publishes(&self.whole),
            Some(lanes) => lanes.iter().any(publishes),
        }
    }
}

/// A barrier at which threads meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum BarrierPhase {
    /// A barrier of a block.
    Block { block: u32, id: u8, phase: u32 },
    /// The barrier of a cluster, by its first block.
    Cluster { first: u32, phase: u32 },
    /// The barrier of a grid, by its first block.
    Grid { first: u32, phase: u32 },
}

impl BarrierPhase {
    /// The phase of the same barrier before the last: no lane waits in it any more.
    pub(super) fn last_but_one(mut self) -> Self {
        let (Self::Block { phase, .. } | Self::Cluster { phase, .. } | Self::Grid { phase, .. }) = &mut self;
        *phase = phase.wrapping_sub(2);
        self
    }
}

/// How lanes arrive at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arriving {
    /// To wait at the barrier, now or later.
    Waiting,
    /// Without waiting.
    Passing,
    /// As `barrier.cluster.arrive.relaxed`, which releases nothing: earlier accesses are known only as far as a fence
    /// of the thread has released them (manual, section 9.7.13.3).
    Relaxed,
}

/// Lanes that arrived at a barrier.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArrivedLanes {
    pub(super) block: u32,
    pub(super) warp: u8,
    pub(super) mask: u32,
    pub(super) epoch: u32,
    /// The epochs that the lanes knew of their warp.
    pub(super) known: u32,
    /// Whether all lanes of the warp arrived.
    pub(super) whole: bool,
}

/// The clocks that threads have released by arriving at a phase of a barrier.
#[derive(Default)]
pub(super) struct BarrierState {
    pub(super) known: Arc<VectorClock>,
    /// The clock of the last arrival that added entries.
    pub(super) last_joined: Option<Arc<VectorClock>>,
    pub(super) arrivals: Vec<ArrivedLanes>,
    /// The highest epoch of the threads that arrived.
    pub(super) epoch: u32,
    /// The number of threads that arrived to wait.
    pub(super) waiting: u32,
    /// Whether a thread arrived without waiting.
    pub(super) passing: bool,
    /// The clocks of earlier fences of sequential consistency, of the arriving threads and seen by them.
    pub(super) sequential: WideClocks,
    pub(super) sequential_seen: WideClocks,
    /// The clock of all threads that leave the barrier, computed when the first thread leaves.
    pub(super) result: Option<Arc<VectorClock>>,
}

impl BarrierState {
    /// Adds the clock that a thread, or a whole warp by its first thread, released by a fence before it arrived. The
    /// completion of operations does not depend on the order of memory accesses.
    pub(super) fn join_released(&mut self, clock: &ThreadState, thread: Thread, whole: bool) {
        let of = |fenced: &FenceClock| {
            if whole { fenced.of_warp(thread) } else { fenced.of(thread) }
        };
        let known = Arc::make_mut(&mut self.known);
        known.join(&clock.known.of_bit(AGENT));
        if let Some(fenced) = clock.fenced.as_ref().filter(|fenced| fenced.scope >= Scope::Cluster) {
            known.join(&of(fenced));
        }
        if let Some(fenced) = &clock.sequential_fence {
            self.sequential.add(fenced.scope, &of(fenced));
        }
    }

    /// The clock of all threads that leave the barrier; `all` if the whole block arrived to wait.
    pub(super) fn result(&mut self, all: Option<u32>) -> Arc<VectorClock> {
        let Self { known, arrivals, epoch, .. } = self;
        let result = self.result.get_or_insert_with(|| {
            let mut result = VectorClock::clone(known);
            match all {
                Some(block) => result.advance_block(block, *epoch),
                None => arrivals.iter().for_each(|arrived| arrived.join_into(&mut result)),
            }
            Arc::new(result)
        });
        Arc::clone(result)
    }
}

impl ArrivedLanes {
    fn join_into(&self, known: &mut VectorClock) {
        let first = thread(self.block, self.warp, 0);
        if self.known > 0 {
            known.advance_warp(first, self.known);
        }
        if self.whole {
            known.advance_warp(first, self.epoch);
        } else {
            lanes_of(self.mask).for_each(|lane| known.advance(thread(self.block, self.warp, lane), self.epoch));
        }
    }
}
