//! A block of threads: its warps, its barriers, and the turns that its warps take.
//!
//! A block is data: it can be left after any turn and continued later by the same worker. [`crate::run::launch`]
//! decides which blocks run.

use crate::base::lanes::{LANES, lanes_of, mask_of};
use crate::base::seed::Chance;
use crate::check::reads::ReadKey;
use crate::exec::group_sync;
use crate::exec::native::{Runner, Stopped};
use crate::exec::schedule::back;
use crate::exec::sync;
use crate::machine::block::{BlockState, RESULT_ALL, RESULT_COUNT};
use crate::machine::cluster::{Cluster, GridBarrier};
use crate::machine::context::Context;
use crate::machine::fault::{FaultKind, LiveThreads, RawFault};
use crate::machine::fuel::Fuel;
use crate::machine::op::Pc;
use crate::machine::polls::Polls;
use crate::machine::warp::{Stop, Wait, Warp};

/// Operations of a warp's turn.
pub(crate) const WARP_TURN: i32 = 64 * 1024;

/// Operations of a block beyond which its warps are not run in step any longer.
const STEPS: u64 = 1 << 22;

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
    /// The result of [`Self::waits_for_grid`] when the block was last left for this reason.
    grid_rows: Option<u64>,
    /// In which order the warps take their turns, if not in their own.
    order: Vec<u8>,
    chance: Chance,
    /// A warp that goes on from elsewhere than its position.
    begun: Option<Begun>,
}

/// Where a warp goes on that was stopped in native code, by [`crate::exec::native::Runner`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) warp: usize,
    pub(crate) pc: Pc,
    /// Operations of the warp that have been counted.
    pub(crate) counted: u64,
}

// SAFETY: a block is used by one worker at a time, and its pointers lead to memory that it or the launch owns.
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
            begun: None,
        }
    }

    /// Makes the block ready to run `threads` threads from `entry`, but for a warp that has begun, as member `rank` of a cluster that
    /// it has joined.
    ///
    /// # Safety
    /// Cluster and grid barrier stay until the block has ended.
    pub(crate) unsafe fn start(
        &mut self,
        coordinates: [u32; 3],
        threads: u32,
        entry: Pc,
        (cluster, rank): (*mut Cluster, u32),
        grid: &GridBarrier,
        begun: Option<Begun>,
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
        self.begun = begun;
        self.reset(threads, entry, begun.map(|begun| begun.warp));
    }

    /// Makes the warps of `threads` threads ready at `entry`, but for one.
    pub(crate) fn reset(&mut self, threads: u32, entry: Pc, but: Option<usize>) {
        let warps = self.warps.iter_mut().enumerate();
        for (index, warp) in warps.filter(|(index, _)| but != Some(*index)) {
            let live = mask_of(threads - (index * LANES) as u32);
            warp.active = live;
            warp.live = live;
            warp.carry = 0;
            warp.pc = entry;
            warp.tier.resume_at = 0;
            warp.read_key.set(ReadKey::NONE);
            warp.stop = Stop::Turn;
            warp.turn = 0;
            warp.frames.clear();
            warp.splits.clear();
            warp.copies.clear();
            warp.bulk_copies.clear();
            warp.products.clear();
            warp.fuel = Fuel::default();
            warp.behind = 0;
            warp.mbarrier_polls = Polls::default();
            warp.grid_polls = Polls::default();
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

    /// How long a warp's turn is, at most `longest`.
    fn turn(&mut self, longest: i32) -> i32 {
        if self.order.is_empty() {
            return longest;
        }
        longest >> (2 * self.chance.below(6))
    }

    /// Runs the warps from barrier to barrier, as long as they all come to the same ones, and then to their exits. A barrier is
    /// not executed: that all warps stand before it is enough. Where a warp does anything else, each goes on from where it stands.
    fn run_in_step(&mut self, runner: &Runner<'_>, executed: &mut u64) {
        let most = *executed + STEPS;
        while *executed < most {
            let mut common = None;
            for (index, warp) in self.warps.iter_mut().enumerate() {
                let counted = warp.executed();
                // SAFETY: the warp was prepared for the launch, which holds its code. It has not diverged.
                let stopped = unsafe { runner.run(warp, WARP_TURN, false) };
                if let Some(watch) = warp.context().watch {
                    watch.look(self.coordinates, index as u32);
                }
                if let Stopped::At(pc) = stopped {
                    self.begun = Some(Begun { warp: index, pc, counted });
                    return;
                }
                *executed += warp.executed() - counted;
                let stands = (stopped, warp.pc);
                if *common.get_or_insert(stands) != stands {
                    return;
                }
            }
            match common {
                // SAFETY: no warp runs.
                Some((Stopped::AtBarrier(id), pc)) if unsafe { (*self.state).barriers[id].threads } == 0 => {
                    self.pass(id);
                    self.warps.iter_mut().for_each(|warp| warp.pc = pc.next());
                }
                Some((Stopped::AtExit, _)) => {
                    for warp in &mut self.warps {
                        let pc = warp.pc;
                        *executed += u64::from(pc.d);
                        warp.fuel.left -= i32::from(pc.d);
                        warp.exit_active(pc.source);
                    }
                    return;
                }
                _ => return,
            }
        }
    }

    /// Completes a barrier at which all warps stand with all their lanes.
    fn pass(&mut self, id: usize) {
        if self.warps.first().is_none_or(|warp| !warp.is_monitored()) {
            return;
        }
        // SAFETY: no warp runs.
        let phase = unsafe { (*self.state).pass(id) };
        self.warps.iter().for_each(|warp| warp.observe_arrival(id as u8, phase, warp.live, false));
        for warp in &mut self.warps {
            warp.observe_departure(id as u8, phase, warp.live);
        }
    }

    /// Lets the warps take turns, each of at most `longest` operations, until all have ended, or `quantum` operations have been
    /// executed. Adds what was executed to `executed`.
    pub(crate) fn run(
        &mut self,
        (quantum, longest): (u64, i32),
        runner: Option<&Runner<'_>>,
        executed: &mut u64,
    ) -> Outcome {
        let mut spent = 0;
        let mut any_progress = false;
        if std::mem::replace(&mut self.left, true) {
            // Another block may have completed a barrier that this block waits for.
            self.release();
        } else if let Some(runner) = runner.filter(|_| self.begun.is_none() && self.order.is_empty()) {
            self.run_in_step(runner, executed);
        }
        loop {
            let mut progress = false;
            let mut done = true;
            for position in 0..self.warps.len() {
                let index = self.order.get(position).map_or(position, |index| usize::from(*index));
                let turn = self.turn(longest);
                let begun = self.begun.take_if(|begun| begun.warp == index);
                let warp = &mut self.warps[index];
                if begun.is_none() && !matches!(warp.stop, Stop::Turn) {
                    done &= warp.stop == Stop::Done;
                    continue;
                }
                progress = true;
                any_progress = true;
                let before = begun.map_or_else(|| warp.executed(), |begun| begun.counted);
                let mut pc = begun.map_or_else(|| warp.resume(turn), |begun| begun.pc);
                while !pc.is_stop() {
                    // SAFETY: the warp was set up for the program that the operation belongs to.
                    pc = unsafe { (pc.handler)(warp, pc) };
                }
                if let Some(watch) = warp.context().watch {
                    watch.look(self.coordinates, index as u32);
                }
                *executed += warp.executed() - before;
                spent += if warp.stop == Stop::Turn { turn as u64 } else { warp.executed() - before };
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
                let state = unsafe { &*self.state };
                sync::abandoned(state, &self.warps);
                group_sync::left(state, &self.warps, true);
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

    /// Lets one warp run until its turn is over or it can go no further. Gives how many operations it executed.
    pub(crate) fn run_warp(&mut self, warp: usize) -> u64 {
        let warp = &mut self.warps[warp];
        let before = warp.executed();
        let mut pc = warp.resume(WARP_TURN);
        while !pc.is_stop() {
            // SAFETY: the warp was set up for the program that the operation belongs to.
            pc = unsafe { (pc.handler)(warp, pc) };
        }
        warp.executed() - before
    }

    /// Wakes the lanes that wait at completed barriers.
    pub(crate) fn release(&mut self) {
        // SAFETY: no warp runs.
        let completed = unsafe { std::mem::take(&mut (*self.state).completed) };
        // SAFETY: as above.
        unsafe {
            if (*self.state).sync_history.is_some() {
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
                        warp.observe_cluster(phase, split.mask, None);
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::Grid { phase } if grid_phase != phase => {
                        warp.observe_grid(phase, split.mask, None);
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::Products { groups } if state.has_committed(warp.index, groups) => {
                        warp.observe_products(groups, split.mask);
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::Columns { columns } if state.tensor.fit(columns).is_some() => {
                        warp.splits[index].wait = Wait::Ready;
                        woken = true;
                    }
                    Wait::Ready
                    | Wait::Lanes { .. }
                    | Wait::AnyLanes { .. }
                    | Wait::Barrier { .. }
                    | Wait::BarrierResult { .. }
                    | Wait::Cluster { .. }
                    | Wait::Grid { .. }
                    | Wait::Choice
                    | Wait::Products { .. }
                    | Wait::Columns { .. } => {}
                }
            }
            if woken && warp.stop == Stop::Blocked {
                warp.stop = Stop::Turn;
            }
        }
    }

    /// Whether every warp has ended, waits, or asks an mbarrier for a phase that no thread is left to complete.
    fn is_stalled(&self) -> bool {
        // SAFETY: no warp runs.
        let state = unsafe { &*self.state };
        if state.sync_history.is_none() || state.mbarriers.is_empty() || state.cluster().size() > 1 {
            return false;
        }
        let waits_outside = |warp: &Warp| warp.splits.iter().any(|split| matches!(split.wait, Wait::Grid { .. }));
        let asks = |warp: &Warp| {
            warp.mbarrier_polls.is_vain(sync::VAIN) && warp.mbarrier_polls.found() == state.mbarrier_changes
        };
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
        (waits && asked).then(|| self.warps.iter().map(|warp| warp.grid_polls.rows).sum())
    }

    /// How the turn ended of a block in which no thread can go on, if other blocks can help.
    fn blocked(&self, progress: bool) -> Option<Outcome> {
        // SAFETY: no warp runs.
        let state = unsafe { &*self.state };
        let mut waits = self.warps.iter().flat_map(|warp| &warp.splits).map(|split| split.wait);
        let grid = state.grid_arrived == 0 && waits.clone().any(|wait| matches!(wait, Wait::Grid { .. }));
        let cluster = state.cluster().size() > 1 && waits.any(|wait| matches!(wait, Wait::Cluster { .. }));
        (grid || cluster).then_some(Outcome::Blocked { grid, progress })
    }

    /// The fault of a block in which no thread can continue, and the warp that reports it. `whole` is what waits: the
    /// block, or more.
    pub(crate) fn deadlock(&self, whole: &str) -> (u32, RawFault) {
        group_sync::stuck(self.state, &self.warps);
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
        (missing as u32, RawFault::new(FaultKind::Deadlock, back(pc, wait).source, lane, message))
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
                    Wait::Ready if warp.mbarrier_polls.is_vain(sync::VAIN) => {
                        "waiting for a phase of an mbarrier that no thread completes".to_owned()
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
                    Wait::Choice => crate::exec::choice::awaited(context, pc),
                    Wait::Products { .. } => {
                        "waiting for the other warps of the warp group to commit products".to_owned()
                    }
                    Wait::Columns { columns } => format!("waiting for {columns} free columns of tensor memory"),
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
        let wanted = if barrier.expected == 0 { state.live_threads } else { barrier.expected };
        format!("waiting at barrier {id}, where {} of {wanted} threads have arrived", barrier.threads)
    }
}

fn write_result(warp: &mut Warp, pc: Pc, mask: u32, threads: u32, positive: u32) {
    if pc.extra == RESULT_COUNT {
        let place = warp.lanes::<u32>(pc.dst);
        for lane in lanes_of(mask) {
            // SAFETY: the slot has 32 lanes.
            unsafe { *place.add(lane) = positive };
        }
        return;
    }
    let value = if pc.extra == RESULT_ALL { positive == threads } else { positive > 0 };
    let place = warp.predicate_place(pc.dst);
    // SAFETY: the operation's destination is a predicate of the program.
    unsafe { *place = if value { *place | mask } else { *place & !mask } };
}
