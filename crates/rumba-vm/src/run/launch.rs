//! Running a kernel: the assignment of blocks to workers, and their order.
//!
//! Workers take blocks in order from a counter, several neighbours at a time if there are many. A block that does not
//! finish within its turn may be waiting for others: its worker then starts more blocks, up to what a device would keep
//! resident, and lets them take turns. [`crate::run::resident`] describes the initial state of a block.

use crate::machine::context::Context;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use thiserror::Error;

use crate::machine::bounds::{Bounds, CACHES, TABLES};
use crate::machine::cluster::Cluster;
use crate::machine::fault::{Fault, FaultKind, LaunchError, LiveThreads, RawFault};
use crate::run::alive::SignsOfLife;
use crate::run::block::{Begun, Block, Outcome};
use crate::run::resident::{InitialState, Resident};

/// The number of operations after which a worker switches to other blocks.
const BLOCK_TURN: u64 = 1 << 20;
/// The same number in a run with a seed: more blocks are under way at once.
const SHORT_TURN: u64 = 1 << 14;

/// How long other blocks go on after a block has failed: one that comes before it may fail, too, and is then reported
/// instead, so that reports do not depend on the workers' speed.
const GRACE: Duration = Duration::from_secs(2);

/// Most clusters that a worker takes at once, and the least number of times that it comes for more.
const MAX_SHARE: u64 = 32;
const SHARES: u64 = 32;

/// The parameters of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters, laid out as the kernel declares them.
    pub parameters: &'a [u8],
    /// Whether all blocks have to be resident at once.
    pub cooperative: bool,
    /// Blocks of a cluster in each dimension, if the launch says so.
    pub cluster: Option<[u32; 3]>,
}

/// The statistics of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Operations executed, each for a whole warp.
    pub warp_instructions: u64,
    /// Blocks executed.
    pub blocks: u64,
    /// Workers that took part.
    pub workers: usize,
}

/// Why a launch failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LaunchFailure {
    /// The launch was refused before it began.
    #[error(transparent)]
    Refused(#[from] LaunchError),
    /// The kernel made a mistake.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// A cluster that a worker keeps.
struct ResidentCluster {
    /// Shared with the states of the blocks.
    state: Box<UnsafeCell<Cluster>>,
    /// Indices of its blocks among the worker's residents, by rank.
    members: Vec<usize>,
}

// SAFETY: a cluster is used by one worker at a time.
unsafe impl Send for ResidentCluster {}

impl ResidentCluster {
    /// The state that its blocks share. Does not use `get_mut`, which would invalidate the blocks' own pointers.
    fn state(&mut self) -> &mut Cluster {
        // SAFETY: the worker that owns the cluster calls this, so none of the cluster's blocks is running.
        unsafe { &mut *self.state.get() }
    }
}

/// The state that a worker keeps from launch to launch.
pub(crate) struct Worker {
    number: usize,
    caches: Vec<Bounds>,
    epoch: u64,
    residents: Vec<Resident>,
    clusters: Vec<ResidentCluster>,
}

impl Worker {
    pub(crate) fn new(number: usize) -> Self {
        Self { number, caches: Vec::new(), epoch: 0, residents: Vec::new(), clusters: Vec::new() }
    }

    /// Forgets the bounds that operations of another launch have cached. Returns the address of this launch's bounds.
    pub(crate) fn reset(&mut self, context: &Context<'_>) -> *mut Bounds {
        // Operations share bounds modulo their number; bounds without an operation are never read.
        let caches = context.program.debug.points.len().clamp(1, CACHES);
        self.caches.resize(TABLES * CACHES, Bounds::default());
        for half in self.caches.chunks_exact_mut(CACHES) {
            half[..caches].fill(Bounds::default());
        }
        self.epoch = context.allocations.epoch();
        self.caches.as_mut_ptr()
    }

    /// Forgets the bounds that operations have cached if memory was freed meanwhile.
    fn forget_what_was_freed(&mut self, context: &Context<'_>) {
        let epoch = context.allocations.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.caches.fill(Bounds::default());
        }
    }

    /// Zeros all registers, so that a block finds the same values in unwritten registers in each run.
    pub(crate) fn clear_registers(&mut self) {
        self.residents.iter_mut().for_each(Resident::clear_registers);
    }

    /// All residents: those of the last launch have ended.
    pub(crate) fn idle(&self) -> Vec<usize> {
        (0..self.residents.len()).rev().collect()
    }

    pub(crate) fn known(&self, index: usize) -> &Resident {
        &self.residents[index]
    }

    pub(crate) fn resident(&mut self, index: usize) -> &mut Resident {
        &mut self.residents[index]
    }

    /// The cluster of a resident.
    fn cluster(&mut self, resident: usize) -> &mut Cluster {
        self.clusters[self.residents[resident].cluster].state()
    }
}

/// The state that the workers of a launch share.
pub(crate) struct Progress {
    executed: AtomicU64,
    /// Blocks from this one on need not be run: an earlier one has failed.
    end: AtomicU64,
    first: Mutex<Option<(u64, Fault)>>,
    /// When the first block failed, in milliseconds since the launch was begun.
    failed_at: AtomicU64,
    /// Why all workers have to stop.
    stop: OnceLock<String>,
    alive: SignsOfLife,
    /// The threads that were running then.
    live: Mutex<Vec<LiveThreads>>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            executed: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            first: Mutex::new(None),
            failed_at: AtomicU64::new(u64::MAX),
            stop: OnceLock::new(),
            alive: SignsOfLife::default(),
            live: Mutex::new(Vec::new()),
        }
    }

    /// Operations executed by all workers.
    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// The fault of the first block that had one; otherwise that the launch had to be stopped.
    pub(crate) fn fault(&self, context: &Context<'_>) -> Option<Fault> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let message = self.stop.get().cloned();
        first.map(|(_, fault)| fault).or_else(|| {
            let live = std::mem::take(&mut *self.live.lock().unwrap_or_else(PoisonError::into_inner));
            message.map(|message| stopped(context, message, LiveThreads::summary(live)))
        })
    }

    fn fail(&self, context: &Context<'_>, index: u64, fault: Fault) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| index < *known) {
            *first = Some((index, fault));
        }
        self.end.fetch_min(index, Ordering::AcqRel);
        let now = context.started.elapsed().as_millis() as u64;
        self.failed_at.fetch_min(now, Ordering::AcqRel);
    }

    /// Stops the launch.
    pub(crate) fn halt(&self, message: &str) {
        // Only the first reason is kept.
        let _ = self.stop.set(message.to_owned());
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.stop.get().is_some()
    }

    /// Whether a block has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Notes the fault of a block, unless another block has failed before.
    pub(crate) fn first_fault(&self, index: u64, fault: Fault) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert((index, fault));
    }

    /// Whether a block failed so long ago that others can no longer be expected to end: they may be waiting for it.
    fn is_over(&self, context: &Context<'_>) -> bool {
        let failed_at = self.failed_at.load(Ordering::Acquire);
        failed_at != u64::MAX && context.started.elapsed() > Duration::from_millis(failed_at) + GRACE
    }
}

/// The clusters that a worker has taken and not begun.
struct Share {
    next: u64,
    end: u64,
    /// The coordinates of the next one.
    coordinates: [u32; 3],
    /// Clusters of the grid, in each dimension and all of them.
    clusters: [u32; 3],
    count: u64,
    /// How many are taken at once.
    size: u64,
}

impl Share {
    fn new(context: &Context<'_>) -> Self {
        let count = context.blocks() / u64::from(context.cluster_size());
        Self {
            next: 0,
            end: 0,
            coordinates: [0; 3],
            clusters: context.clusters(),
            count,
            size: (count / (context.workers as u64 * SHARES)).clamp(1, MAX_SHARE),
        }
    }

    /// The number and the coordinates of a cluster to begin, if one is left.
    fn take(&mut self, context: &Context<'_>) -> Option<(u64, [u32; 3])> {
        if self.next == self.end {
            let first = context.take(self.size);
            if first >= self.count {
                return None;
            }
            self.next = first;
            self.end = (first + self.size).min(self.count);
            self.coordinates = context.begun(first);
        }
        let taken = (self.next, self.coordinates);
        self.next += 1;
        if context.seed.is_some() && self.next < self.end {
            self.coordinates = context.begun(self.next);
            return Some(taken);
        }
        for (coordinate, size) in self.coordinates.iter_mut().zip(self.clusters) {
            *coordinate += 1;
            if *coordinate < size {
                break;
            }
            *coordinate = 0;
        }
        Some(taken)
    }
}

/// The reason to end the launch, if it has one.
pub(crate) fn exhausted(context: &Context<'_>, executed: u64) -> Option<String> {
    if executed > context.instruction_limit {
        let most = context.instruction_limit;
        return Some(format!("the launch executed {executed} instructions, and at most {most} are allowed"));
    }
    let limit = context.time_limit?;
    (context.started.elapsed() > limit).then(|| {
        format!(
            "the launch did not end within {} seconds; threads may be waiting for something that never happens",
            limit.as_secs_f64()
        )
    })
}

/// The work of a worker since it last reported to the other workers.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) operations: u64,
    pub(crate) blocks: u64,
}

impl Done {
    /// Counts a block that has ended.
    fn block(&mut self, context: &Context<'_>) {
        self.blocks += 1;
        if let Some(beat) = context.beat {
            beat.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reports to the other workers, and stops all workers if the launch has to end.
    pub(crate) fn tell(&mut self, context: &Context<'_>, progress: &Progress) {
        let Self { operations, blocks } = std::mem::take(self);
        let total = progress.executed.fetch_add(operations, Ordering::Relaxed) + operations;
        if let Some(tier_up) = &context.tier_up {
            tier_up.add(operations);
        }
        if blocks > 0 {
            context.grid_barrier.finish(blocks);
        }
        progress.alive.tell(context, blocks);
        if let Some(message) = exhausted(context, total) {
            // Only the first worker's reason is kept.
            let _ = progress.stop.set(message);
        }
    }
}

/// The result of running a block without starting it.
enum Attempt {
    /// The block was not tried.
    None,
    /// The block has ended.
    Ended,
    /// The block has to be started. Its resident is the last idle one.
    Begun(Begun),
}

/// The record of a worker's attempts to run blocks without starting them.
#[derive(Default)]
struct Attempts {
    ended: u64,
    begun: u64,
}

impl Attempts {
    /// Tries to run a block without starting it, given its number and its coordinates.
    fn run(
        &mut self,
        initial: &InitialState<'_>,
        worker: &mut Worker,
        idle: &[usize],
        (number, coordinates): (u64, [u32; 3]),
        done: &mut Done,
    ) -> Attempt {
        let context = initial.context;
        let (Some(runner), Some(resident)) = (initial.runner.as_ref().filter(|_| initial.is_alone), idle.last()) else {
            return Attempt::None;
        };
        if self.begun * SUCCESSES > self.ended + PATIENCE || !worker.residents[*resident].is_prepared(context) {
            return Attempt::None;
        }
        worker.forget_what_was_freed(context);
        let place = context.place(coordinates, 0);
        let resident = &mut worker.residents[*resident];
        resident.index = number;
        match resident.run_alone(initial, runner, &place, &mut done.operations) {
            Ok(()) => {
                self.ended += 1;
                done.block(context);
                Attempt::Ended
            }
            Err(begun) => {
                self.begun += 1;
                Attempt::Begun(begun)
            }
        }
    }
}

/// Blocks that have to end for one that had to be started after all, beyond those of a first time.
const SUCCESSES: u64 = 8;
const PATIENCE: u64 = 32;

/// A worker's part of a launch.
pub(crate) fn work(context: &Context<'_>, progress: &Progress, worker: &mut Worker) {
    let caches = worker.reset(context);
    let initial = InitialState::new(context, worker.number, caches);
    let size = context.cluster_size() as usize;
    let turn = if context.seed.is_some() { SHORT_TURN } else { BLOCK_TURN };
    let mut share = Share::new(context);
    let mut alone = Attempts::default();
    let mut done = Done::default();
    let mut running: VecDeque<usize> = VecDeque::new();
    let mut idle = worker.idle();
    let mut wanted = if context.cooperative { context.residency } else { size };
    // Whether no block is left to begin.
    let mut drained = false;
    // Blocks in a row that had nothing to do.
    let mut waiting = 0;
    loop {
        while !drained && worker.residents.len() - idle.len() + size <= wanted {
            if share.next == share.end && (done.blocks > 0 || done.operations > 0) {
                done.tell(context, progress);
            }
            let cluster = if progress.stop.get().is_some() { None } else { share.take(context) };
            let Some((cluster, coordinates)) =
                cluster.filter(|(number, _)| number * (size as u64) < progress.end.load(Ordering::Acquire))
            else {
                drained = true;
                break;
            };
            let first = cluster * size as u64;
            let begun = match alone.run(&initial, worker, &idle, (first, coordinates), &mut done) {
                Attempt::Ended => continue,
                Attempt::Begun(begun) => Some(begun),
                Attempt::None => None,
            };
            if let Err(error) = begin(&initial, worker, &mut idle, &mut running, (first, coordinates), begun) {
                let fault = refused(context, coordinates, &error);
                progress.fail(context, first, fault);
            }
        }
        let Some(current) = running.pop_front() else { break };
        worker.forget_what_was_freed(context);
        let resident = &mut worker.residents[current];
        let index = resident.index;
        if index >= progress.end.load(Ordering::Acquire) || progress.is_over(context) {
            finish(worker, current, &mut idle);
            continue;
        }
        if progress.stop.get().is_some() {
            let mut live = progress.live.lock().unwrap_or_else(PoisonError::into_inner);
            live.extend(resident.block.live(context));
            continue;
        }
        let epoch = if context.cooperative { context.grid_barrier.epoch() } else { 0 };
        let outcome = resident.block.run(turn, initial.runner.as_ref(), &mut done.operations);
        if let Outcome::Finished = outcome {
            done.block(context);
            waiting = 0;
            context.observe_end(worker.residents[current].index as u32);
            finish(worker, current, &mut idle);
            continue;
        }
        // Other blocks may be waiting for the effects of this turn.
        done.tell(context, progress);
        if !matches!(outcome, Outcome::Blocked { progress: false, .. }) {
            worker.cluster(current).idle = 0;
            waiting = 0;
            if context.cooperative {
                context.grid_barrier.progressed();
            }
        }
        match outcome {
            Outcome::Finished => {}
            Outcome::Preempted => {
                wanted = (wanted + size).min(context.residency);
                running.push_back(current);
            }
            Outcome::Blocked { grid, .. } => {
                let cluster = worker.cluster(current);
                cluster.idle = if grid { 0 } else { cluster.idle + 1 };
                let is_alone = cluster.idle > cluster.unfinished;
                let stalled = &mut worker.residents[current].stalled;
                let is_all = context.cooperative && context.grid_barrier.stalls(epoch, stalled);
                if is_alone || is_all {
                    // If another block has failed, this block may be waiting for it, and the deadlock is not reported.
                    if progress.failed_at.load(Ordering::Acquire) == u64::MAX {
                        let fault = deadlock(context, worker, current, !is_alone);
                        progress.fail(context, index, fault);
                    }
                    finish(worker, current, &mut idle);
                    continue;
                }
                running.push_back(current);
                waiting += 1;
                if waiting > running.len() {
                    // The blocks of this worker wait for blocks of other workers.
                    std::thread::yield_now();
                }
            }
            Outcome::Deadlock => {
                let fault = deadlock(context, worker, current, false);
                progress.fail(context, index, fault);
                finish(worker, current, &mut idle);
            }
            Outcome::Fault(warp, raw) => {
                let block = &worker.residents[current].block;
                progress.fail(context, index, describe(context, block, warp, *raw, Vec::new()));
                finish(worker, current, &mut idle);
            }
        }
    }
    done.tell(context, progress);
}

/// Begins the blocks of a cluster, given the number of the first and the cluster's coordinates; one that is alone may have begun.
pub(crate) fn begin(
    initial: &InitialState<'_>,
    worker: &mut Worker,
    idle: &mut Vec<usize>,
    running: &mut VecDeque<usize>,
    (first, coordinates): (u64, [u32; 3]),
    begun: Option<Begun>,
) -> std::io::Result<()> {
    let context = initial.context;
    let mut member = |worker: &mut Worker| {
        idle.pop().unwrap_or_else(|| {
            worker.residents.push(Resident::new(worker.residents.len()));
            worker.clusters.push(ResidentCluster { state: Box::default(), members: Vec::new() });
            worker.residents.len() - 1
        })
    };
    // Each resident has a cluster with the same index, which is free whenever the resident is idle.
    let cluster = member(worker);
    let mut members = std::mem::take(&mut worker.clusters[cluster].members);
    // A launch that was stopped leaves the members of its last clusters behind.
    members.clear();
    members.push(cluster);
    for _ in 1..context.cluster_size() {
        members.push(member(worker));
    }
    worker.clusters[cluster].state().clear();
    let state = worker.clusters[cluster].state.get();
    for (rank, resident) in (0..).zip(&members) {
        let resident = &mut worker.residents[*resident];
        resident.index = first + u64::from(rank);
        resident.cluster = cluster;
        resident.rank = rank;
        resident.stalled = 0;
        let place = context.place(coordinates, rank);
        // SAFETY: the cluster is this worker's, in a box that it keeps; it was cleared, and its blocks are run by the caller.
        if let Err(error) = unsafe { resident.start(initial, &place, state, begun) } {
            idle.append(&mut members);
            return Err(error);
        }
    }
    running.extend(&members);
    worker.clusters[cluster].members = members;
    Ok(())
}

/// Lets go of a block that need not run any more; its memory serves others when the whole cluster is at that point.
pub(crate) fn finish(worker: &mut Worker, resident: usize, idle: &mut Vec<usize>) {
    let Resident { cluster, rank, .. } = worker.residents[resident];
    let cluster = &mut worker.clusters[cluster];
    cluster.state().finish(rank);
    if cluster.state().unfinished == 0 {
        idle.append(&mut cluster.members);
    }
}

/// The deadlock of a block whose threads all wait in vain or, if `of_grid`, of the whole grid.
pub(crate) fn deadlock(context: &Context<'_>, worker: &Worker, resident: usize, of_grid: bool) -> Fault {
    let block = &worker.residents[resident].block;
    let members = &worker.clusters[worker.residents[resident].cluster].members;
    let live = members.iter().flat_map(|member| worker.residents[*member].block.live(context));
    let mut live: Vec<_> = live.collect();
    if members.len() > 1 {
        live = LiveThreads::summary(live);
    }
    let whole = match members.len() {
        _ if of_grid => "grid",
        1 => "block",
        _ => "cluster",
    };
    let (warp, raw) = block.deadlock(whole);
    describe(context, block, warp, raw, live)
}

pub(crate) fn describe(
    context: &Context<'_>,
    block: &Block,
    warp: u32,
    raw: RawFault,
    live: Vec<LiveThreads>,
) -> Fault {
    let debug = &context.program.debug;
    let (ptx, ptx_line) = debug.ptx(raw.source);
    // An assertion says itself where it stands; the instruction that reports it may be far from there.
    let locations = match raw.location {
        Some(location) => vec![location],
        None => debug.locations(raw.source),
    };
    Fault {
        kind: raw.kind,
        kernel: context.program.name.clone(),
        block: block.coordinates,
        thread: context.thread(warp, raw.lane as u32),
        locations,
        ptx,
        ptx_line,
        address: raw.address,
        access: raw.access,
        place: raw.place,
        message: raw.message,
        live,
        seed: context.seed,
    }
}

/// The fault of a launch that was stopped.
fn stopped(context: &Context<'_>, message: String, live: Vec<LiveThreads>) -> Fault {
    let first = live.first();
    Fault {
        kind: FaultKind::Timeout,
        kernel: context.program.name.clone(),
        block: first.map_or([0; 3], |first| first.block),
        thread: first.map_or([0; 3], |first| first.thread),
        locations: first.and_then(|first| first.location.clone()).into_iter().collect(),
        ptx: first.map_or_else(String::new, |first| first.ptx.clone()),
        ptx_line: first.map_or(0, |first| first.ptx_line),
        address: None,
        access: None,
        place: None,
        message,
        live,
        seed: context.seed,
    }
}

fn refused(context: &Context<'_>, cluster: [u32; 3], error: &std::io::Error) -> Fault {
    Fault {
        kind: FaultKind::StackOverflow,
        kernel: context.program.name.clone(),
        block: context.place(cluster, 0).block,
        thread: [0; 3],
        locations: Vec::new(),
        ptx: String::new(),
        ptx_line: 0,
        address: None,
        access: None,
        place: None,
        message: format!("the system refused memory for the block's shared memory and stacks: {error}"),
        live: Vec::new(),
        seed: context.seed,
    }
}
