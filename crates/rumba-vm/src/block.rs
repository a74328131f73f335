//! A block of threads: its warps, its barriers, and the turns that its warps take.
//!
//! A block is data: it can be left after any turn and continued later by the same worker. Which blocks run is decided
//! in [`crate::launch`].

use crate::check::pending::Flight;
use crate::check::sync::{self, Watch};
use crate::cluster::{Cluster, GridBarrier};
use crate::copies::Tracked;
use crate::fault::{FaultKind, LiveThreads, RawFault};
use crate::launch::Context;
use crate::op::Pc;
use crate::seed::Chance;
use crate::warp::{FULL, LANES, Stop, Wait, Warp, lanes_of};

/// Barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// Warps of the largest block.
pub(crate) const MAX_WARPS: usize = 32;

/// Operations of a warp's turn.
const WARP_TURN: i32 = 64 * 1024;

/// One of the block's barriers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Barrier {
    /// Lanes that have arrived, of each warp.
    arrived: [u32; MAX_WARPS],
    /// How many that are.
    pub(crate) threads: u32,
    /// How many it waits for; 0 for all that have not exited.
    pub(crate) expected: u32,
    /// How many of those that have arrived came with a true predicate.
    positive: u32,
    /// How often it was completed.
    pub(crate) phase: u32,
    /// Threads and true predicates of the last completion, and how many it was for.
    pub(crate) result: (u32, u32),
    pub(crate) last_expected: u32,
}

const FRESH_BARRIER: Barrier = Barrier {
    arrived: [0; MAX_WARPS],
    threads: 0,
    expected: 0,
    positive: 0,
    phase: 0,
    result: (0, 0),
    last_expected: 0,
};

/// What the warps of a block share.
#[derive(Debug)]
pub(crate) struct BlockState {
    /// Lanes of each warp that have not exited.
    live: [u32; MAX_WARPS],
    live_threads: u32,
    pub(crate) barriers: [Barrier; BARRIERS],
    /// Barriers that somebody has arrived at.
    used: u16,
    /// Barriers that were completed, and whose waiters are to be woken; [`OUTSIDE`] for those of cluster and grid.
    completed: u32,
    /// Where the block lies in the grid.
    pub(crate) coordinates: [u32; 3],
    /// Its number in the order in which blocks are begun.
    pub(crate) number: u32,
    /// The block's cluster, and its rank there.
    pub(crate) cluster: *mut Cluster,
    pub(crate) rank: u32,
    grid: *const GridBarrier,
    /// Host addresses of the mbarriers in the block's shared memory.
    pub(crate) mbarriers: Vec<u64>,
    /// Copies that these keep track of.
    pub(crate) tracked: Vec<Tracked>,
    /// Copies under way, if races are looked for.
    pub(crate) flights: Vec<Flight>,
    /// How often an mbarrier was changed.
    pub(crate) mbarrier_changes: u64,
    /// What the check of synchronisation remembers, if it is on.
    pub(crate) watch: Option<Box<Watch>>,
    /// Threads that have arrived at the barrier of the grid; the block arrives there when all have.
    grid_arrived: u32,
}

/// In [`BlockState::completed`]: a barrier beyond the block.
const OUTSIDE: u32 = 1 << BARRIERS;

impl BlockState {
    pub(crate) fn new() -> Self {
        Self {
            live: [0; MAX_WARPS],
            live_threads: 0,
            barriers: [FRESH_BARRIER; BARRIERS],
            used: 0,
            completed: 0,
            coordinates: [0; 3],
            number: 0,
            cluster: std::ptr::null_mut(),
            rank: 0,
            grid: std::ptr::null(),
            mbarriers: Vec::new(),
            tracked: Vec::new(),
            flights: Vec::new(),
            mbarrier_changes: 0,
            watch: None,
            grid_arrived: 0,
        }
    }

    fn start(&mut self, threads: u32) {
        for id in lanes_of(u32::from(self.used)) {
            self.barriers[id] = FRESH_BARRIER;
        }
        self.used = 0;
        self.completed = 0;
        self.mbarriers.clear();
        self.tracked.clear();
        self.flights.clear();
        self.grid_arrived = 0;
        self.live_threads = threads;
        let (whole, rest) = self.live.split_at_mut((threads as usize / LANES).min(MAX_WARPS));
        whole.fill(FULL);
        rest.fill(0);
        if let Some(last) = rest.first_mut() {
            *last = mask_of(threads % LANES as u32);
        }
    }

    /// Notes that lanes of a warp have exited: barriers no longer wait for them.
    pub(crate) fn exited(&mut self, warp: u32, mask: u32) {
        self.live[warp as usize] &= !mask;
        self.live_threads -= mask.count_ones();
        for id in lanes_of(u32::from(self.used)) {
            self.complete(id);
        }
        if self.change_cluster(|cluster| cluster.exited(self.rank, warp, mask)) {
            self.completed |= OUTSIDE;
        }
        self.complete_grid();
    }

    /// The block's cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        // SAFETY: the launch has set it, it belongs to the worker that runs the block, and what changes it
        // (`change_cluster`) returns before anything else looks.
        unsafe { &*self.cluster }
    }

    /// Changes the block's cluster. No reference to it is held meanwhile.
    pub(crate) fn change_cluster<R>(&self, change: impl FnOnce(&mut Cluster) -> R) -> R {
        // SAFETY: the launch has set it, and it belongs to the worker that runs the block. A cluster knows no more of its
        // blocks than their addresses, so that `change` cannot come back here.
        change(unsafe { &mut *self.cluster })
    }

    /// Lanes arrive at the barrier of the cluster.
    pub(crate) fn arrive_at_cluster(&mut self, warp: u32, mask: u32) -> Result<(), String> {
        if self.change_cluster(|cluster| cluster.arrive(self.rank, warp, mask))? {
            self.completed |= OUTSIDE;
        }
        Ok(())
    }

    /// Threads arrive at the barrier of the grid, and wait for the phase that is given to end.
    pub(crate) fn arrive_at_grid(&mut self, threads: u32) -> u32 {
        // SAFETY: the launch has set it and outlives its blocks.
        let phase = unsafe { (*self.grid).phase() };
        self.grid_arrived += threads;
        self.complete_grid();
        phase
    }

    fn complete_grid(&mut self) {
        if self.grid_arrived > 0 && self.grid_arrived >= self.live_threads {
            self.grid_arrived = 0;
            // SAFETY: as in `arrive_at_grid`.
            unsafe { (*self.grid).arrive() };
            self.completed |= OUTSIDE;
        }
    }

    /// How often a barrier was completed.
    pub(crate) fn phase(&self, id: usize) -> u32 {
        self.barriers[id].phase
    }

    /// Lanes of a warp arrive at a barrier for `expected` threads, some of them with a true predicate.
    pub(crate) fn arrive(
        &mut self,
        id: usize,
        warp: u32,
        mask: u32,
        expected: u32,
        positive: u32,
    ) -> Result<(), String> {
        let barrier = &mut self.barriers[id];
        if barrier.threads != 0 && barrier.expected != expected {
            let name = |count| {
                if count == 0 {
                    "all threads".to_owned()
                } else {
                    format!("{count} threads")
                }
            };
            return Err(format!(
                "barrier {id} is used for {} here and for {} by threads that wait at it",
                name(expected),
                name(barrier.expected)
            ));
        }
        barrier.expected = expected;
        let arrived = &mut barrier.arrived[warp as usize];
        barrier.threads += (mask & !*arrived).count_ones();
        barrier.positive += positive;
        *arrived |= mask;
        self.used |= 1 << id;
        self.complete(id);
        Ok(())
    }

    fn complete(&mut self, id: usize) {
        let barrier = &mut self.barriers[id];
        if barrier.threads == 0 {
            return;
        }
        let complete = if barrier.expected == 0 {
            barrier.threads >= self.live_threads
        } else {
            // A warp that has arrived with all its lanes counts as a whole one, exited lanes included.
            let weights = barrier.arrived.iter().zip(&self.live).map(|(arrived, live)| {
                if *arrived != 0 && live & !arrived == 0 {
                    LANES as u32
                } else {
                    arrived.count_ones()
                }
            });
            weights.sum::<u32>() >= barrier.expected
        };
        if complete {
            let phase = barrier.phase + 1;
            let result = (barrier.threads, barrier.positive);
            *barrier = Barrier {
                phase,
                result,
                last_expected: barrier.expected,
                ..FRESH_BARRIER
            };
            self.completed |= 1 << id;
        }
    }
}

/// The mask of the first `count` lanes.
pub(crate) fn mask_of(count: u32) -> u32 {
    if count >= LANES as u32 {
        u32::MAX
    } else {
        (1 << count) - 1
    }
}

/// How a block's turn ended.
pub(crate) enum Outcome {
    /// All its threads have exited.
    Finished,
    /// Its turn is over.
    Preempted,
    /// Its threads wait for other blocks, of the cluster or the whole grid.
    Blocked {
        /// Whether some of them wait for the grid.
        grid: bool,
        /// Whether anything was executed before that.
        progress: bool,
    },
    /// Its threads wait for each other.
    Deadlock,
    /// A thread of this warp made a mistake.
    Fault(u32, Box<RawFault>),
}

/// A block and its threads.
pub(crate) struct Block {
    pub(crate) coordinates: [u32; 3],
    pub(crate) warps: Vec<Warp>,
    /// Shared with the warps, which is why it is a pointer; owned by this.
    pub(crate) state: *mut BlockState,
    /// Whether it was left before all its threads had exited.
    left: bool,
    /// What [`Self::waits_for_grid`] said when it was last left because of that.
    grid_rows: Option<u64>,
    /// In which order the warps take their turns, if not in their own.
    order: Vec<u8>,
    chance: Chance,
}

// SAFETY: a block is used by one worker at a time, and its pointers lead to what it or the launch owns.
unsafe impl Send for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the state was made by `Box::into_raw` and is freed here only.
        drop(unsafe { Box::from_raw(self.state) });
    }
}

impl Block {
    pub(crate) fn new() -> Self {
        Self {
            coordinates: [0; 3],
            warps: Vec::new(),
            state: Box::into_raw(Box::new(BlockState::new())),
            left: false,
            grid_rows: None,
            order: Vec::new(),
            chance: Chance::default(),
        }
    }

    /// Makes the block ready to run `threads` threads from `entry`, those of full warps from `full`, as member `rank` of a
    /// cluster that it has joined.
    ///
    /// # Safety
    /// Cluster and grid barrier stay until the block has ended.
    pub(crate) unsafe fn start(
        &mut self,
        coordinates: [u32; 3],
        threads: u32,
        (entry, full): (Pc, Pc),
        (cluster, rank): (*mut Cluster, u32),
        grid: &GridBarrier,
    ) {
        self.coordinates = coordinates;
        self.left = false;
        self.grid_rows = None;
        // SAFETY: no warp runs.
        let state = unsafe { &mut *self.state };
        state.start(threads);
        state.coordinates = coordinates;
        state.cluster = cluster;
        state.rank = rank;
        state.grid = grid;
        for (index, warp) in self.warps.iter_mut().enumerate() {
            let live = mask_of(threads - (index * LANES) as u32);
            warp.active = live;
            warp.live = live;
            warp.pc = if live == FULL { full } else { entry };
            warp.in_step_since = 0;
            warp.stop = Stop::Turn;
            warp.turn = 0;
            warp.frames.clear();
            warp.splits.clear();
            warp.copies.clear();
            warp.bulk_copies.clear();
            warp.granted = 0;
            warp.fuel = 0;
            warp.polled = 0;
            warp.counted = 0;
            warp.behind = 0;
            warp.failed_waits = 0;
            warp.failed_at = (0, 0);
            warp.grid_waits = 0;
            warp.grid_rows = 0;
            warp.grid_asked = (0, 0);
            warp.fault = None;
        }
    }

    /// Takes the order of the warps and of their lanes from a sequence of numbers, or from nothing.
    pub(crate) fn shuffle(&mut self, chance: Option<Chance>) {
        self.order.clear();
        let Some(mut chance) = chance else { return };
        self.order.extend(0..self.warps.len() as u8);
        for last in (1..self.order.len()).rev() {
            let other = chance.below(last as u64 + 1) as usize;
            self.order.swap(last, other);
        }
        for warp in &mut self.warps {
            warp.chance = Chance::new(chance.next(), &[]);
        }
        self.chance = chance;
    }

    /// How long a warp's turn is.
    fn turn(&mut self) -> i32 {
        if self.order.is_empty() {
            return WARP_TURN;
        }
        WARP_TURN >> (2 * self.chance.below(6))
    }

    /// Lets the warps take turns until all have ended, or `quantum` operations have been executed. Adds what was
    /// executed to `executed`.
    pub(crate) fn run(&mut self, quantum: u64, executed: &mut u64) -> Outcome {
        let mut spent = 0;
        let mut any_progress = false;
        if std::mem::replace(&mut self.left, true) {
            // Another block may have completed what this one waits for.
            self.release();
        }
        loop {
            let mut progress = false;
            let mut done = true;
            for position in 0..self.warps.len() {
                let index = self.order.get(position).map_or(position, |index| usize::from(*index));
                let turn = self.turn();
                let warp = &mut self.warps[index];
                if !matches!(warp.stop, Stop::Turn) {
                    done &= warp.stop == Stop::Done;
                    continue;
                }
                progress = true;
                any_progress = true;
                let before = warp.executed();
                let mut pc = warp.resume(turn);
                while !pc.is_stop() {
                    // SAFETY: the warp was set up for the program that the operation belongs to.
                    pc = unsafe { (pc.handler)(warp, pc) };
                }
                *executed += warp.executed() - before;
                spent += if warp.stop == Stop::Turn {
                    turn as u64
                } else {
                    warp.executed() - before
                };
                match warp.stop {
                    Stop::Done => {}
                    Stop::Turn | Stop::Blocked => done = false,
                    Stop::Fault => {
                        if let Some(fault) = warp.fault.take() {
                            return Outcome::Fault(index as u32, fault);
                        }
                    }
                }
                // SAFETY: no warp runs.
                if unsafe { (*self.state).completed } != 0 {
                    self.release();
                    done = false;
                }
            }
            if done {
                // SAFETY: no warp runs.
                sync::abandoned(unsafe { &*self.state }, &self.warps);
                return Outcome::Finished;
            }
            if self.is_stalled() {
                return Outcome::Deadlock;
            }
            if let Some(rows) = self.waits_for_grid() {
                // Unless it has done nothing else since the last time.
                let progress = self.grid_rows.replace(rows) != Some(rows);
                return Outcome::Blocked { grid: true, progress };
            }
            if !progress && self.warps.iter().all(|warp| warp.stop != Stop::Turn) {
                return self.blocked(any_progress).unwrap_or(Outcome::Deadlock);
            }
            if spent > quantum {
                return Outcome::Preempted;
            }
        }
    }

    /// Wakes the lanes that wait at completed barriers.
    fn release(&mut self) {
        // SAFETY: no warp runs.
        let completed = unsafe { std::mem::take(&mut (*self.state).completed) };
        // SAFETY: as above.
        unsafe {
            if (*self.state).watch.is_some() {
                sync::completed(self.state, &self.warps, completed);
            }
        }
        // SAFETY: as above. What warps ask their block for below, they only read.
        let state = unsafe { &*self.state };
        let cluster_phase = state.cluster().phase();
        // SAFETY: the launch has set it and outlives its blocks.
        let grid_phase = unsafe { (*state.grid).phase() };
        for warp in &mut self.warps {
            let mut woken = false;
            for index in 0..warp.splits.len() {
                let split = &warp.splits[index];
                match split.wait {
                    Wait::Barrier { id, phase } if state.barriers[usize::from(id)].phase != phase => {
                        warp.observe_departure(id, phase, split.mask);
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::BarrierResult { id, phase } if state.barriers[usize::from(id)].phase != phase => {
                        let (threads, positive) = state.barriers[usize::from(id)].result;
                        let (pc, mask) = (split.pc, split.mask);
                        warp.observe_departure(id, phase, mask);
                        write_result(warp, pc, mask, threads, positive);
                        warp.splits[index].pc = pc.next();
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::Cluster { phase } if cluster_phase != phase => {
                        warp.observe_cluster(phase, split.mask, false);
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::Grid { phase } if grid_phase != phase => {
                        warp.observe_grid(phase, split.mask, false);
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::Ready
                    | Wait::Lanes { .. }
                    | Wait::AnyLanes { .. }
                    | Wait::Barrier { .. }
                    | Wait::BarrierResult { .. }
                    | Wait::Cluster { .. }
                    | Wait::Grid { .. } => {}
                }
            }
            if woken && warp.stop == Stop::Blocked {
                warp.stop = Stop::Turn;
            }
        }
    }

    /// Whether every warp has ended, waits, or asks an mbarrier for a phase that nobody is left to complete.
    fn is_stalled(&self) -> bool {
        // SAFETY: no warp runs.
        let state = unsafe { &*self.state };
        if state.watch.is_none() || state.mbarriers.is_empty() || state.cluster().size() > 1 {
            return false;
        }
        let waits_outside = |warp: &Warp| warp.splits.iter().any(|split| matches!(split.wait, Wait::Grid { .. }));
        let asks = |warp: &Warp| warp.failed_waits >= sync::VAIN && warp.failed_at.1 == state.mbarrier_changes;
        let mut stalled = false;
        self.warps.iter().all(|warp| {
            stalled |= asks(warp);
            match warp.stop {
                Stop::Done => true,
                Stop::Blocked => !waits_outside(warp),
                Stop::Turn => asks(warp),
                Stop::Fault => false,
            }
        }) && stalled
    }

    /// How often the block has begun to ask the barrier of the grid, if every warp has ended, waits, or asks for a phase that
    /// this block cannot complete.
    fn waits_for_grid(&self) -> Option<u64> {
        let mut asked = false;
        let waits = self.warps.iter().all(|warp| {
            let asks = warp.stop == Stop::Turn && warp.asks_grid();
            asked |= asks;
            asks || matches!(warp.stop, Stop::Done | Stop::Blocked)
        });
        (waits && asked).then(|| self.warps.iter().map(|warp| warp.grid_rows).sum())
    }

    /// How the turn ended of a block in which nobody can go on, if other blocks can help.
    fn blocked(&self, progress: bool) -> Option<Outcome> {
        // SAFETY: no warp runs.
        let state = unsafe { &*self.state };
        let mut waits = self.warps.iter().flat_map(|warp| &warp.splits).map(|split| split.wait);
        let grid = state.grid_arrived == 0 && waits.clone().any(|wait| matches!(wait, Wait::Grid { .. }));
        let cluster = state.cluster().size() > 1 && waits.any(|wait| matches!(wait, Wait::Cluster { .. }));
        (grid || cluster).then_some(Outcome::Blocked { grid, progress })
    }

    /// What to say of a block in which nobody can go on, and the warp that is to say it. `whole` is what waits: the block, or
    /// more.
    pub(crate) fn deadlock(&self, whole: &str) -> (u32, RawFault) {
        let missing = self
            .warps
            .iter()
            .position(|warp| warp.stop == Stop::Blocked)
            .or_else(|| self.warps.iter().position(|warp| warp.live != 0))
            .unwrap_or(0);
        let warp = &self.warps[missing];
        let split = warp.splits.first();
        let lane = split.map_or(warp.live, |split| split.mask).trailing_zeros() as usize % LANES;
        let pc = split.map_or(warp.pc, |split| split.pc);
        let message = format!("every thread of the {whole} waits for others, and none of them can go on");
        let wait = split.map(|split| split.wait);
        (
            missing as u32,
            RawFault::new(FaultKind::Deadlock, back(pc, wait), lane, message),
        )
    }

    /// Where the threads stand that have not exited.
    pub(crate) fn live(&self, context: &Context<'_>) -> Vec<LiveThreads> {
        let mut list = Vec::new();
        for warp in self.warps.iter().filter(|warp| warp.live != 0) {
            let running = (warp.active != 0).then_some((warp.pc, warp.active, Wait::Ready));
            let waiting = warp.splits.iter().map(|split| (split.pc, split.mask, split.wait));
            for (pc, mask, wait) in running.into_iter().chain(waiting).filter(|(_, mask, _)| *mask != 0) {
                let pc = back(pc, Some(wait));
                if pc.is_stop() {
                    continue;
                }
                let state = match wait {
                    Wait::Ready if warp.failed_waits >= sync::VAIN => {
                        "waiting for a phase of an mbarrier that nobody completes".to_owned()
                    }
                    Wait::Ready if warp.asks_grid() => "waiting at the barrier of the grid".to_owned(),
                    Wait::Ready => "running".to_owned(),
                    Wait::Lanes { members } | Wait::AnyLanes { members } => {
                        let missing = members & warp.live & !mask;
                        format!("waiting for lanes {missing:#010x} of the warp (mask {members:#010x})")
                    }
                    Wait::Barrier { id, .. } | Wait::BarrierResult { id, .. } => self.describe_barrier(usize::from(id)),
                    Wait::Cluster { .. } => {
                        // SAFETY: no warp runs.
                        let (arrived, live) = unsafe { (*self.state).cluster().progress() };
                        format!("waiting at the barrier of the cluster, where {arrived} of {live} threads have arrived")
                    }
                    Wait::Grid { .. } => "waiting at the barrier of the grid".to_owned(),
                };
                let debug = &context.program.debug;
                let (ptx, ptx_line) = debug.ptx(pc.source);
                list.push(LiveThreads {
                    block: self.coordinates,
                    thread: context.thread(warp.index, mask.trailing_zeros()),
                    count: mask.count_ones(),
                    warps: 1,
                    blocks: 1,
                    state,
                    pc: pc.source,
                    location: debug.locations(pc.source).into_iter().next(),
                    ptx,
                    ptx_line,
                });
            }
        }
        list
    }

    fn describe_barrier(&self, id: usize) -> String {
        // SAFETY: no warp runs.
        let state = unsafe { &*self.state };
        let barrier = &state.barriers[id];
        let wanted = if barrier.expected == 0 {
            state.live_threads
        } else {
            barrier.expected
        };
        format!(
            "waiting at barrier {id}, where {} of {wanted} threads have arrived",
            barrier.threads
        )
    }
}

/// The operation that lanes wait at: those at barriers go on behind it.
pub(crate) fn back(pc: Pc, wait: Option<Wait>) -> Pc {
    match wait {
        Some(Wait::Barrier { .. } | Wait::AnyLanes { .. } | Wait::Cluster { .. } | Wait::Grid { .. }) => {
            Pc::new(pc.as_ptr().wrapping_sub(1))
        }
        Some(Wait::Ready | Wait::Lanes { .. } | Wait::BarrierResult { .. }) | None => pc,
    }
}

/// What `bar.red` writes; its operation says how in `extra`.
pub(crate) const RESULT_COUNT: u16 = 0;
/// Whether all predicates were true.
pub(crate) const RESULT_ALL: u16 = 1;
/// Whether any predicate was true.
pub(crate) const RESULT_ANY: u16 = 2;

fn write_result(warp: &mut Warp, pc: Pc, mask: u32, threads: u32, positive: u32) {
    if pc.extra == RESULT_COUNT {
        let place = warp.lanes::<u32>(pc.dst);
        for lane in lanes_of(mask) {
            // SAFETY: the slot has 32 lanes.
            unsafe { *place.add(lane) = positive };
        }
        return;
    }
    let value = if pc.extra == RESULT_ALL {
        positive == threads
    } else {
        positive > 0
    };
    let place = warp.predicate_place(pc.dst);
    // SAFETY: the operation's destination is a predicate of the program.
    unsafe { *place = if value { *place | mask } else { *place & !mask } };
}
