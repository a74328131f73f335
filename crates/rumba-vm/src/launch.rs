//! Running a kernel: which blocks run where and when, and what they find in their fixed slots.
//!
//! Workers take blocks in order from a counter. A block that does not finish within its turn may be waiting for others:
//! its worker then starts more blocks, up to what a device would keep resident, and lets them take turns.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::allocations::Allocations;
use crate::arena::{Arena, SHARED_STRIDE, Window};
use crate::block::{Block, Outcome};
use crate::check::memory::{Bounds, CACHES};
use crate::check::monitor;
use crate::cluster::{Cluster, GridBarrier};
use crate::fault::{Fault, FaultKind, LaunchError, LiveThreads, RawFault};
use crate::lockstep::Lockstep;
use crate::native::Heap;
use crate::op::Pc;
use crate::printf::Output;
use crate::program::{Class, Fixed, Program, SHARED_START, STACK_START};
use crate::special::Special;
use crate::target::GROUP;
use crate::types::ScalarType;
use crate::warp::{LANES, UNIT, Warp};

/// Operations after which a worker thinks of other blocks.
const BLOCK_TURN: u64 = 1 << 20;

/// How long other blocks go on after a block has failed: one that comes before it may fail, too, and is then reported
/// instead, so that reports do not depend on the workers' speed.
const GRACE: Duration = Duration::from_secs(2);

/// What to launch a kernel with.
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

/// What a launch did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Operations executed, each for a whole warp.
    pub warp_instructions: u64,
    /// Blocks executed.
    pub blocks: u64,
    /// Workers that took part.
    pub workers: usize,
}

/// Why a launch came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LaunchFailure {
    /// It was not begun.
    #[error(transparent)]
    Refused(#[from] LaunchError),
    /// The kernel made a mistake.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// What everybody in a launch can see.
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    /// The program for warps in lockstep.
    pub(crate) lockstep: Option<&'a Lockstep>,
    pub(crate) arena: &'a Arena,
    pub(crate) allocations: &'a Allocations,
    pub(crate) output: &'a Output,
    pub(crate) heap: &'a Heap,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) parameters: &'a [u8],
    /// Where kernels that take a parameter's address find them.
    pub(crate) parameter_start: u64,
    /// The launch's parts of the windows for shared memory and stacks.
    pub(crate) shared: Window,
    pub(crate) local: Window,
    /// Bytes of each thread's stack, counted from offset 0.
    pub(crate) stack_stride: u64,
    /// Number of the launch.
    pub(crate) number: u64,
    pub(crate) workers: usize,
    /// Blocks that a worker may keep resident.
    pub(crate) residency: usize,
    pub(crate) cooperative: bool,
    /// Blocks of a cluster in each dimension.
    pub(crate) cluster: [u32; 3],
    pub(crate) explicit_cluster: bool,
    /// Where compiled code keeps the state of the grid's barrier; 0 without one.
    pub(crate) grid_workspace: u64,
    pub(crate) grid_barrier: GridBarrier,
    pub(crate) memcheck: bool,
    /// The checks that remember what threads did, if they are on.
    pub(crate) monitor: Option<&'a monitor::Shared>,
    pub(crate) instruction_limit: u64,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) started: Instant,
}

impl Context<'_> {
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    fn warps(&self) -> usize {
        self.threads().div_ceil(LANES as u32) as usize
    }

    /// The coordinates of a thread.
    pub(crate) fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        let index = warp * LANES as u32 + lane;
        let [x, y, _] = self.block;
        [index % x, index / x % y, index / x / y]
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters of the grid in each dimension.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.grid[axis] / self.cluster[axis])
    }

    /// The coordinates of a cluster in the grid.
    fn cluster_coordinates(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.clusters().map(u64::from);
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
    }

    /// The coordinates of the block of a rank in its cluster.
    fn rank_coordinates(&self, rank: u32) -> [u32; 3] {
        let [x, y, _] = self.cluster;
        [rank % x, rank / x % y, rank / x / y]
    }

    /// The coordinates of a block in the grid. Blocks are counted cluster by cluster.
    pub(crate) fn coordinates(&self, index: u64) -> [u32; 3] {
        let size = u64::from(self.cluster_size());
        let cluster = self.cluster_coordinates(index / size);
        let inside = self.rank_coordinates((index % size) as u32);
        [0, 1, 2].map(|axis| cluster[axis] * self.cluster[axis] + inside[axis])
    }

    /// Why the launch has to end, if it does.
    fn exhausted(&self, executed: u64) -> Option<String> {
        if executed > self.instruction_limit {
            let most = self.instruction_limit;
            return Some(format!(
                "the launch executed {executed} instructions, and at most {most} are allowed"
            ));
        }
        let limit = self.time_limit?;
        (self.started.elapsed() > limit).then(|| {
            format!(
                "the launch did not end within {} seconds; threads may be waiting for something that never happens",
                limit.as_secs_f64()
            )
        })
    }

    /// Offset of dynamic shared memory.
    fn dynamic_start(&self) -> u64 {
        self.program.shared_end.next_multiple_of(self.program.dynamic_align)
    }

    /// End of shared memory, counted from offset 0.
    fn shared_end(&self) -> u64 {
        if self.dynamic_shared == 0 {
            self.program.shared_end
        } else {
            self.dynamic_start() + u64::from(self.dynamic_shared)
        }
    }

    /// What a fixed slot holds in a lane.
    fn fixed(&self, value: Fixed, worker: usize, warp: usize, lane: usize) -> u128 {
        match value {
            Fixed::Constant(bits) => bits,
            Fixed::Special(special) => u128::from(self.special(special, worker, warp as u32, lane as u32)),
            Fixed::Parameter { offset, ty } => self.parameter(offset as usize, ty),
            Fixed::ParameterAddress(offset) => u128::from(self.parameter_start + u64::from(offset)),
            Fixed::DynamicShared => u128::from(self.dynamic_start()),
            Fixed::Transfer(_) => 0,
            Fixed::StackPointer => u128::from(STACK_START + self.program.frame_bytes),
        }
    }

    fn special(&self, special: Special, worker: usize, warp: u32, lane: u32) -> u64 {
        let lanes_from = |first: u32| u64::from(u32::MAX.checked_shl(first).unwrap_or(0));
        match special {
            Special::Tid(axis) => u64::from(self.thread(warp, lane)[usize::from(axis)]),
            Special::NTid(axis) => u64::from(self.block[usize::from(axis)]),
            // Set for each block.
            Special::CtaId(_) | Special::ClusterId(_) | Special::ClusterCtaId(_) | Special::ClusterCtaRank => 0,
            Special::NClusterId(axis) => u64::from(self.clusters()[usize::from(axis)]),
            Special::ClusterNCtaId(axis) => u64::from(self.cluster[usize::from(axis)]),
            Special::ClusterNCtaRank => u64::from(self.cluster_size()),
            Special::GridWorkspace(true) => self.grid_workspace >> 32,
            Special::GridWorkspace(false) => self.grid_workspace,
            Special::NCtaId(axis) => u64::from(self.grid[usize::from(axis)]),
            Special::LaneId => u64::from(lane),
            Special::WarpId => u64::from(warp),
            Special::NWarpId => self.warps() as u64,
            Special::SmId => worker as u64,
            Special::NSmId => self.workers as u64,
            Special::GridId => self.number,
            Special::LaneMaskEq => 1 << lane,
            Special::LaneMaskLt => u64::from(!lanes_from(lane) as u32),
            Special::LaneMaskLe => u64::from(!lanes_from(lane + 1) as u32),
            Special::LaneMaskGt => lanes_from(lane + 1),
            Special::LaneMaskGe => lanes_from(lane),
            Special::DynamicSharedBytes => u64::from(self.dynamic_shared),
            Special::TotalSharedBytes => self.shared_end() - SHARED_START,
            Special::Always(value) => u64::from(value),
            // Read by operations of their own.
            Special::Clock
            | Special::ClockHi
            | Special::Clock64
            | Special::GlobalTimer
            | Special::GlobalTimerLo
            | Special::GlobalTimerHi
            | Special::IsExplicitCluster => 0,
        }
    }

    /// The value of a special register that each block has its own of.
    fn block_special(&self, special: Special, index: u64) -> Option<u32> {
        let rank = (index % u64::from(self.cluster_size())) as u32;
        let cluster = || self.cluster_coordinates(index / u64::from(self.cluster_size()));
        Some(match special {
            Special::CtaId(axis) => self.coordinates(index)[usize::from(axis)],
            Special::ClusterId(axis) => cluster()[usize::from(axis)],
            Special::ClusterCtaId(axis) => self.rank_coordinates(rank)[usize::from(axis)],
            Special::ClusterCtaRank => rank,
            _ => return None,
        })
    }

    fn parameter(&self, offset: usize, ty: ScalarType) -> u128 {
        let bytes = ty.bytes() as usize;
        let mut raw = [0; 16];
        if let Some(given) = self.parameters.get(offset..offset + bytes) {
            raw[..bytes].copy_from_slice(given);
        }
        let value = u128::from_le_bytes(raw);
        let unused = 128 - ty.bits();
        if ty.is_signed() {
            ((value << unused) as i128 >> unused) as u128
        } else {
            value
        }
    }
}

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// A block that a worker keeps, with the memory for its registers.
struct Resident {
    block: Block,
    registers: Vec<Line>,
    /// Number of its part of the windows for shared and local memory.
    slot: usize,
    /// The launch that it is prepared for.
    prepared: u64,
    /// Number of the block in the order in which blocks are begun.
    index: u64,
    /// Which of the worker's clusters it belongs to, and its rank there.
    cluster: usize,
    rank: u32,
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

/// What a worker keeps from launch to launch.
pub(crate) struct Worker {
    number: usize,
    caches: Vec<Bounds>,
    epoch: u64,
    residents: Vec<Resident>,
    clusters: Vec<ResidentCluster>,
}

impl Worker {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            caches: Vec::new(),
            epoch: 0,
            residents: Vec::new(),
            clusters: Vec::new(),
        }
    }

    /// The cluster of a resident.
    fn cluster(&mut self, resident: usize) -> &mut Cluster {
        self.clusters[self.residents[resident].cluster].state.get_mut()
    }
}

/// What the workers of a launch tell each other.
pub(crate) struct Progress {
    /// The next cluster to begin.
    next: AtomicU64,
    executed: AtomicU64,
    /// Blocks from this one on need not be run: an earlier one has failed.
    end: AtomicU64,
    first: Mutex<Option<(u64, Fault)>>,
    /// When the first block failed, in milliseconds since the launch was begun.
    failed_at: AtomicU64,
    /// Why everybody has to stop.
    stop: OnceLock<String>,
    /// Who was at work then.
    live: Mutex<Vec<LiveThreads>>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            next: AtomicU64::new(0),
            executed: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            first: Mutex::new(None),
            failed_at: AtomicU64::new(u64::MAX),
            stop: OnceLock::new(),
            live: Mutex::new(Vec::new()),
        }
    }

    /// Operations executed by all workers.
    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// The fault of the first block that had one; otherwise that the launch had to be stopped.
    pub(crate) fn into_fault(self, context: &Context<'_>) -> Option<Fault> {
        let first = self.first.into_inner().unwrap_or_else(PoisonError::into_inner);
        let live = self.live.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (first, self.stop.into_inner()) {
            (Some((_, fault)), _) => Some(fault),
            (None, Some(message)) => Some(stopped(context, message, LiveThreads::summary(live))),
            (None, None) => None,
        }
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

    /// Whether a block failed so long ago that others can no longer be expected to end: they may be waiting for it.
    fn is_over(&self, context: &Context<'_>) -> bool {
        let failed_at = self.failed_at.load(Ordering::Acquire);
        failed_at != u64::MAX && context.started.elapsed() > Duration::from_millis(failed_at) + GRACE
    }
}

/// A worker's part of a launch.
pub(crate) fn work(context: &Context<'_>, progress: &Progress, worker: &mut Worker) {
    worker.caches.clear();
    worker.caches.resize(2 * CACHES, Bounds::default());
    worker.epoch = context.allocations.epoch();
    let size = context.cluster_size() as usize;
    let clusters = context.blocks() / size as u64;
    let mut running: VecDeque<usize> = VecDeque::new();
    let mut idle: Vec<usize> = (0..worker.residents.len()).rev().collect();
    let mut wanted = if context.cooperative { context.residency } else { size };
    // Blocks in a row that had nothing to do.
    let mut waiting = 0;
    loop {
        while worker.residents.len() - idle.len() + size <= wanted {
            let cluster = progress.next.fetch_add(1, Ordering::Relaxed);
            let index = cluster * size as u64;
            if cluster >= clusters || index >= progress.end.load(Ordering::Acquire) {
                break;
            }
            if let Err(error) = begin(context, worker, &mut idle, &mut running, index) {
                let fault = refused(context, index, &error);
                progress.fail(context, index, fault);
            }
        }
        let Some(current) = running.pop_front() else { break };
        let epoch = context.allocations.epoch();
        if epoch != worker.epoch {
            worker.epoch = epoch;
            worker.caches.fill(Bounds::default());
        }
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
        let mut executed = 0;
        let outcome = resident.block.run(BLOCK_TURN, &mut executed);
        let total = progress.executed.fetch_add(executed, Ordering::Relaxed) + executed;
        if !matches!(outcome, Outcome::Blocked { progress: false, .. }) {
            worker.cluster(current).idle = 0;
            waiting = 0;
        }
        match outcome {
            Outcome::Finished => {
                context.grid_barrier.finish();
                context.observe_end(worker.residents[current].block.coordinates);
                finish(worker, current, &mut idle);
                continue;
            }
            Outcome::Preempted => {
                wanted = (wanted + size).min(context.residency);
                running.push_back(current);
            }
            Outcome::Blocked { grid, .. } => {
                let cluster = worker.cluster(current);
                cluster.idle = if grid { 0 } else { cluster.idle + 1 };
                if cluster.idle > cluster.unfinished {
                    // Unless it is because another one of them has failed.
                    if progress.failed_at.load(Ordering::Acquire) == u64::MAX {
                        let fault = deadlock(context, worker, current);
                        progress.fail(context, index, fault);
                    }
                    finish(worker, current, &mut idle);
                    continue;
                }
                running.push_back(current);
                waiting += 1;
                if waiting > running.len() {
                    // Other workers have the blocks that these ones wait for.
                    std::thread::yield_now();
                }
            }
            Outcome::Deadlock => {
                let fault = deadlock(context, worker, current);
                progress.fail(context, index, fault);
                finish(worker, current, &mut idle);
                continue;
            }
            Outcome::Fault(warp, raw) => {
                let block = &worker.residents[current].block;
                progress.fail(context, index, describe(context, block, warp, *raw, Vec::new()));
                finish(worker, current, &mut idle);
                continue;
            }
        }
        if let Some(message) = context.exhausted(total) {
            // Whoever is first says why.
            let _ = progress.stop.set(message);
        }
    }
}

/// Begins the blocks of a cluster, the first of which has the number `first`.
fn begin(
    context: &Context<'_>,
    worker: &mut Worker,
    idle: &mut Vec<usize>,
    running: &mut VecDeque<usize>,
    first: u64,
) -> std::io::Result<()> {
    let mut members = Vec::with_capacity(1);
    for _ in 0..context.cluster_size() {
        members.push(idle.pop().unwrap_or_else(|| {
            let slot = worker.residents.len() * context.workers + worker.number;
            worker.residents.push(Resident {
                block: Block::new(),
                registers: Vec::new(),
                slot,
                prepared: u64::MAX,
                index: 0,
                cluster: 0,
                rank: 0,
            });
            worker.clusters.push(ResidentCluster {
                state: Box::default(),
                members: Vec::new(),
            });
            worker.residents.len() - 1
        }));
    }
    // There are as many clusters as residents, and the first resident's is free if that one was.
    let cluster = members[0];
    worker.clusters[cluster].state.get_mut().clear();
    for (rank, resident) in members.iter().enumerate() {
        let index = first + rank as u64;
        if let Err(error) = start(context, worker, *resident, index, (cluster, rank as u32)) {
            idle.extend(members);
            return Err(error);
        }
    }
    running.extend(&members);
    worker.clusters[cluster].members = members;
    Ok(())
}

/// Lets go of a block that need not run any more; its memory serves others when the whole cluster is at that point.
fn finish(worker: &mut Worker, resident: usize, idle: &mut Vec<usize>) {
    let Resident { cluster, rank, .. } = worker.residents[resident];
    let cluster = &mut worker.clusters[cluster];
    let state = cluster.state.get_mut();
    state.finish(rank);
    if state.unfinished == 0 {
        idle.append(&mut cluster.members);
    }
}

/// The fault of a block whose threads all wait in vain.
fn deadlock(context: &Context<'_>, worker: &Worker, resident: usize) -> Fault {
    let block = &worker.residents[resident].block;
    let members = &worker.clusters[worker.residents[resident].cluster].members;
    let live = members
        .iter()
        .flat_map(|member| worker.residents[*member].block.live(context));
    let mut live: Vec<_> = live.collect();
    if members.len() > 1 {
        live = LiveThreads::summary(live);
    }
    let (warp, raw) = block.deadlock(members.len() > 1);
    describe(context, block, warp, raw, live)
}

/// Makes a resident run the block with the number `index`, as a member of a cluster.
fn start(
    context: &Context<'_>,
    worker: &mut Worker,
    resident: usize,
    index: u64,
    (cluster, rank): (usize, u32),
) -> std::io::Result<()> {
    let number = worker.number;
    let caches = worker.caches.as_mut_ptr();
    let cluster_state = worker.clusters[cluster].state.get();
    let resident = &mut worker.residents[resident];
    if resident.prepared != context.number {
        prepare(context, number, caches, resident)?;
        resident.prepared = context.number;
    }
    resident.index = index;
    resident.cluster = cluster;
    resident.rank = rank;
    for (slot, class, value) in &context.program.fixed {
        if *value == Fixed::StackPointer {
            let value = context.fixed(*value, number, 0, 0);
            for warp in &resident.block.warps {
                // SAFETY: the slot is one of the program's.
                unsafe { fill(warp, *slot, *class, |_| value) };
            }
        }
    }
    let heads_do = context.lockstep.is_some_and(|lockstep| !lockstep.reads_of_block);
    let full_warps = context.threads() as usize / LANES;
    for (index, warp) in resident.block.warps.iter_mut().enumerate() {
        warp.lacks_of_block = heads_do && index < full_warps;
    }
    for (slot, class, special) in context.program.of_block() {
        let value = context.block_special(special, index).unwrap_or(0);
        for warp in &resident.block.warps {
            // SAFETY: the slot is one of the program's.
            unsafe {
                match class {
                    Class::W32 if warp.lacks_of_block => fill_heads(warp, slot, [value; LANES / GROUP]),
                    Class::W64 if warp.lacks_of_block => fill_heads(warp, slot, [u64::from(value); LANES / GROUP]),
                    _ => fill(warp, slot, class, |_| u128::from(value)),
                }
            }
        }
    }
    let base = context.shared.start + (resident.slot * SHARED_STRIDE) as u64;
    let shared = context.shared_end() - SHARED_START;
    if shared > 0 {
        let start = base + SHARED_START;
        // SAFETY: this part of the window was committed for this resident alone.
        unsafe { std::ptr::write_bytes(start as *mut u8, crate::allocations::FRESH, shared as usize) };
    }
    let entry = Pc::new(context.program.ops.as_ptr().wrapping_add(context.program.entry));
    let threads = context.threads();
    // SAFETY: the cluster belongs to this worker, and none of its blocks runs.
    unsafe { (*cluster_state).join(base, resident.block.state, threads) };
    let coordinates = context.coordinates(index);
    context.observe_begin(coordinates, base..base + SHARED_STRIDE as u64);
    let full = context.lockstep.map_or(entry, Lockstep::start);
    resident.block.start(
        coordinates,
        threads,
        (entry, full),
        (cluster_state, rank),
        &context.grid_barrier,
    );
    Ok(())
}

/// Gives a resident what all blocks of the launch have in common.
fn prepare(context: &Context<'_>, worker: usize, caches: *mut Bounds, resident: &mut Resident) -> std::io::Result<()> {
    let program = context.program;
    let warps = context.warps();
    let register_bytes = program.units * UNIT;
    let head_bytes = register_bytes / GROUP;
    let stride = (register_bytes + head_bytes + program.predicates * 4).next_multiple_of(64);
    let lines = stride * warps / 64;
    if resident.registers.len() < lines {
        resident.registers.clear();
        resident.registers.resize(lines, Line([0; 64]));
    }
    let shared_offset = resident.slot * SHARED_STRIDE;
    if context.shared_end() > SHARED_START {
        context.arena.commit(context.shared, shared_offset + SHARED_STRIDE)?;
    }
    let stack_bytes = context.stack_stride * (warps * LANES) as u64;
    let stack_offset = resident.slot as u64 * stack_bytes;
    context
        .arena
        .commit(context.local, (stack_offset + stack_bytes) as usize)?;
    resident.block.warps.truncate(warps);
    resident.block.warps.resize_with(warps, Warp::idle);
    let memory = resident.registers.as_mut_ptr().cast::<u8>();
    for (index, warp) in resident.block.warps.iter_mut().enumerate() {
        let registers = memory.wrapping_add(index * stride);
        // SAFETY: the memory belongs to the resident, which keeps it as long as its warps run.
        unsafe {
            let heads = registers.wrapping_add(register_bytes);
            warp.set_registers(registers, heads, heads.wrapping_add(head_bytes).cast());
        }
        // SAFETY: there are at least the two constant predicates.
        unsafe {
            *warp.predicate_place(0) = 0;
            *warp.predicate_place(1) = u32::MAX;
        }
        warp.caches = caches;
        warp.context = std::ptr::from_ref(context).cast();
        warp.lockstep = context.lockstep.map_or(std::ptr::null(), std::ptr::from_ref);
        warp.stumbles = 0;
        warp.reluctance = 0;
        warp.shared_base = context.shared.start + shared_offset as u64;
        warp.shared_end = context.shared_end();
        warp.shared_known = if context.monitor.is_some() {
            SHARED_START
        } else {
            warp.shared_end
        };
        warp.stack_stride = context.stack_stride;
        warp.stack_base = context.local.start + stack_offset + (index * LANES) as u64 * context.stack_stride;
        for (slot, class, value) in &program.fixed {
            // SAFETY: the slot is one of the program's.
            unsafe { fill(warp, *slot, *class, |lane| context.fixed(*value, worker, index, lane)) };
        }
    }
    Ok(())
}

/// Fills a slot, its lanes and its heads.
///
/// # Safety
/// The slot is one of the warp's program, of this class.
unsafe fn fill(warp: &Warp, slot: u16, class: Class, value: impl Fn(usize) -> u128) {
    // SAFETY: as the caller promises.
    unsafe {
        match class {
            Class::W32 => fill_lanes(warp, slot, |lane| value(lane) as u32),
            Class::W64 => fill_lanes(warp, slot, |lane| value(lane) as u64),
            Class::W128 => fill_lanes(warp, slot, value),
        }
    }
}

/// # Safety
/// The slot is one for `T` of the warp's program.
#[inline(always)]
unsafe fn fill_lanes<T: Copy>(warp: &Warp, slot: u16, value: impl Fn(usize) -> T) {
    let lanes: [T; LANES] = std::array::from_fn(value);
    let heads: [T; LANES / GROUP] = std::array::from_fn(|group| lanes[group * GROUP]);
    // SAFETY: a slot has 32 lanes and a head for each group.
    unsafe {
        warp.lanes::<[T; LANES]>(slot).write(lanes);
        fill_heads(warp, slot, heads);
    }
}

/// # Safety
/// The slot is one for `T` of the warp's program.
#[inline(always)]
unsafe fn fill_heads<T: Copy>(warp: &Warp, slot: u16, heads: [T; LANES / GROUP]) {
    // SAFETY: a slot has a head for each group.
    unsafe { warp.heads::<[T; LANES / GROUP]>(slot).write_unaligned(heads) };
}

fn describe(context: &Context<'_>, block: &Block, warp: u32, raw: RawFault, live: Vec<LiveThreads>) -> Fault {
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
    }
}

fn refused(context: &Context<'_>, index: u64, error: &std::io::Error) -> Fault {
    Fault {
        kind: FaultKind::StackOverflow,
        kernel: context.program.name.clone(),
        block: context.coordinates(index),
        thread: [0; 3],
        locations: Vec::new(),
        ptx: String::new(),
        ptx_line: 0,
        address: None,
        access: None,
        place: None,
        message: format!("the system refused memory for the block's shared memory and stacks: {error}"),
        live: Vec::new(),
    }
}
