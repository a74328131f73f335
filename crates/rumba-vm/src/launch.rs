//! Running a kernel: which blocks run where and when, and what they find in their fixed slots.
//!
//! Workers take blocks in order from a counter. A block that does not finish within its turn may be waiting for others:
//! its worker then starts more blocks, up to what a device would keep resident, and lets them take turns.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

use crate::allocations::Allocations;
use crate::arena::{Arena, SHARED_STRIDE};
use crate::block::{Block, Outcome};
use crate::check::memory::{Bounds, CACHES};
use crate::fault::{Fault, FaultKind, LaunchError, LiveThreads, RawFault};
use crate::op::Pc;
use crate::printf::Output;
use crate::program::{Class, Fixed, Program, SHARED_START, STACK_START};
use crate::special::Special;
use crate::types::ScalarType;
use crate::warp::{LANES, UNIT, Warp};

/// Operations after which a worker thinks of other blocks.
const BLOCK_TURN: u64 = 1 << 20;

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
    pub(crate) arena: &'a Arena,
    pub(crate) allocations: &'a Allocations,
    pub(crate) output: &'a Output,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) parameters: &'a [u8],
    /// Bytes of each thread's stack, counted from offset 0.
    pub(crate) stack_stride: u64,
    /// Number of the launch.
    pub(crate) number: u64,
    pub(crate) workers: usize,
    /// Blocks that a worker may keep resident.
    pub(crate) residency: usize,
    pub(crate) cooperative: bool,
    pub(crate) memcheck: bool,
    pub(crate) instruction_limit: u64,
}

impl Context<'_> {
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    fn blocks(&self) -> u64 {
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

    fn coordinates(&self, index: u64) -> [u32; 3] {
        let [x, y, _] = self.grid.map(u64::from);
        [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
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
            Special::CtaId(_) => 0,
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
            | Special::GlobalTimerHi => 0,
        }
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
    /// Index of the block in the grid.
    index: u64,
}

/// What a worker keeps from launch to launch.
pub(crate) struct Worker {
    number: usize,
    caches: Vec<Bounds>,
    epoch: u64,
    residents: Vec<Resident>,
}

impl Worker {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            caches: Vec::new(),
            epoch: 0,
            residents: Vec::new(),
        }
    }
}

/// What the workers of a launch tell each other.
pub(crate) struct Progress {
    next: AtomicU64,
    executed: AtomicU64,
    /// Blocks from this one on need not be run: an earlier one has failed.
    end: AtomicU64,
    failed: AtomicBool,
    first: Mutex<Option<(u64, Fault)>>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            next: AtomicU64::new(0),
            executed: AtomicU64::new(0),
            end: AtomicU64::new(u64::MAX),
            failed: AtomicBool::new(false),
            first: Mutex::new(None),
        }
    }

    /// Operations executed by all workers.
    pub(crate) fn executed(&self) -> u64 {
        self.executed.load(Ordering::Relaxed)
    }

    /// The fault of the first block that had one.
    pub(crate) fn into_fault(self) -> Option<Fault> {
        self.first
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map(|(_, fault)| fault)
    }

    fn fail(&self, index: u64, fault: Fault) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| index < *known) {
            *first = Some((index, fault));
        }
        self.end.fetch_min(index, Ordering::AcqRel);
        self.failed.store(true, Ordering::Release);
    }
}

/// A worker's part of a launch.
pub(crate) fn work(context: &Context<'_>, progress: &Progress, worker: &mut Worker) {
    worker.caches.clear();
    worker.caches.resize(2 * CACHES, Bounds::default());
    worker.epoch = context.allocations.epoch();
    let blocks = context.blocks();
    let mut running: VecDeque<usize> = VecDeque::new();
    let mut idle: Vec<usize> = (0..worker.residents.len()).rev().collect();
    let mut wanted = if context.cooperative { context.residency } else { 1 };
    loop {
        while running.len() < wanted {
            let index = progress.next.fetch_add(1, Ordering::Relaxed);
            if index >= blocks || index >= progress.end.load(Ordering::Acquire) {
                break;
            }
            let slot = idle.pop().unwrap_or_else(|| {
                let slot = worker.residents.len() * context.workers + worker.number;
                worker.residents.push(Resident {
                    block: Block::new(),
                    registers: Vec::new(),
                    slot,
                    prepared: u64::MAX,
                    index: 0,
                });
                worker.residents.len() - 1
            });
            if let Err(error) = start(context, worker, slot, index) {
                let fault = refused(context, index, &error);
                progress.fail(index, fault);
                idle.push(slot);
                break;
            }
            running.push_back(slot);
        }
        let Some(current) = running.pop_front() else { break };
        let epoch = context.allocations.epoch();
        if epoch != worker.epoch {
            worker.epoch = epoch;
            worker.caches.fill(Bounds::default());
        }
        let resident = &mut worker.residents[current];
        if resident.index >= progress.end.load(Ordering::Acquire) {
            idle.push(current);
            continue;
        }
        let mut executed = 0;
        let outcome = resident.block.run(BLOCK_TURN, &mut executed);
        let total = progress.executed.fetch_add(executed, Ordering::Relaxed) + executed;
        match outcome {
            Outcome::Finished => idle.push(current),
            Outcome::Preempted if total > context.instruction_limit => {
                let live = resident.block.live(context);
                let message = format!(
                    "the launch executed {total} instructions, and at most {} are allowed",
                    context.instruction_limit
                );
                let raw = RawFault::new_nowhere(FaultKind::Timeout, message);
                let index = resident.index;
                progress.fail(index, describe(context, &resident.block, 0, raw, live));
                idle.push(current);
            }
            Outcome::Preempted => {
                wanted = (wanted + 1).min(context.residency);
                running.push_back(current);
            }
            Outcome::Fault(warp, raw) => {
                let live = match raw.kind {
                    FaultKind::Deadlock => resident.block.live(context),
                    _ => Vec::new(),
                };
                let index = resident.index;
                progress.fail(index, describe(context, &resident.block, warp, *raw, live));
                idle.push(current);
            }
        }
    }
}

/// Makes a resident run block `index`.
fn start(context: &Context<'_>, worker: &mut Worker, resident: usize, index: u64) -> std::io::Result<()> {
    let number = worker.number;
    let caches = worker.caches.as_mut_ptr();
    let resident = &mut worker.residents[resident];
    if resident.prepared != context.number {
        prepare(context, number, caches, resident)?;
        resident.prepared = context.number;
    }
    resident.index = index;
    let coordinates = context.coordinates(index);
    for (slot, class, value) in &context.program.fixed {
        let value = match value {
            Fixed::Special(Special::CtaId(axis)) => u128::from(coordinates[usize::from(*axis)]),
            Fixed::StackPointer => context.fixed(*value, number, 0, 0),
            _ => continue,
        };
        for warp in &resident.block.warps {
            // SAFETY: the slot is one of the program's.
            unsafe { fill(warp, *slot, *class, |_| value) };
        }
    }
    let shared = context.shared_end() - SHARED_START;
    if shared > 0 {
        let start = context.arena.shared.start + (resident.slot * SHARED_STRIDE) as u64 + SHARED_START;
        // SAFETY: this part of the window was committed for this resident alone.
        unsafe { std::ptr::write_bytes(start as *mut u8, crate::allocations::FRESH, shared as usize) };
    }
    let entry = Pc::new(context.program.ops.as_ptr().wrapping_add(context.program.entry));
    resident.block.start(coordinates, context.threads(), entry);
    Ok(())
}

/// Gives a resident what all blocks of the launch have in common.
fn prepare(context: &Context<'_>, worker: usize, caches: *mut Bounds, resident: &mut Resident) -> std::io::Result<()> {
    let program = context.program;
    let warps = context.warps();
    let register_bytes = program.units * UNIT;
    let stride = (register_bytes + program.predicates * 4).next_multiple_of(64);
    let lines = stride * warps / 64;
    if resident.registers.len() < lines {
        resident.registers.clear();
        resident.registers.resize(lines, Line([0; 64]));
    }
    let shared_offset = resident.slot * SHARED_STRIDE;
    if context.shared_end() > SHARED_START {
        context
            .arena
            .commit(context.arena.shared, shared_offset + SHARED_STRIDE)?;
    }
    let stack_bytes = context.stack_stride * (warps * LANES) as u64;
    let stack_offset = resident.slot as u64 * stack_bytes;
    context
        .arena
        .commit(context.arena.local, (stack_offset + stack_bytes) as usize)?;
    resident.block.warps.truncate(warps);
    resident.block.warps.resize_with(warps, Warp::idle);
    let memory = resident.registers.as_mut_ptr().cast::<u8>();
    for (index, warp) in resident.block.warps.iter_mut().enumerate() {
        let registers = memory.wrapping_add(index * stride);
        // SAFETY: the memory belongs to the resident, which keeps it as long as its warps run.
        unsafe { warp.set_registers(registers, registers.wrapping_add(register_bytes).cast()) };
        // SAFETY: there are at least the two constant predicates.
        unsafe {
            *warp.predicate_place(0) = 0;
            *warp.predicate_place(1) = u32::MAX;
        }
        warp.caches = caches;
        warp.context = std::ptr::from_ref(context).cast();
        warp.shared_base = context.arena.shared.start + shared_offset as u64;
        warp.shared_end = context.shared_end();
        warp.stack_stride = context.stack_stride;
        warp.stack_base = context.arena.local.start + stack_offset + (index * LANES) as u64 * context.stack_stride;
        for (slot, class, value) in &program.fixed {
            // SAFETY: the slot is one of the program's.
            unsafe { fill(warp, *slot, *class, |lane| context.fixed(*value, worker, index, lane)) };
        }
    }
    Ok(())
}

/// Fills a slot.
///
/// # Safety
/// The slot is one of the warp's program, of this class.
unsafe fn fill(warp: &Warp, slot: u16, class: Class, value: impl Fn(usize) -> u128) {
    for lane in 0..LANES {
        // SAFETY: a slot has 32 lanes.
        unsafe {
            match class {
                Class::W32 => *warp.lanes::<u32>(slot).add(lane) = value(lane) as u32,
                Class::W64 => *warp.lanes::<u64>(slot).add(lane) = value(lane) as u64,
                Class::W128 => *warp.lanes::<u128>(slot).add(lane) = value(lane),
            }
        }
    }
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
