//! Blocks that a worker keeps: the memory for their registers, and the initial values of their fixed slots.
//!
//! [`Resident::prepare`] writes the values that all blocks of a launch share, once; [`Resident::start`] writes the
//! values that differ from block to block. [`crate::run::launch`] decides where and when blocks run.

use crate::base::lanes::{LANES, SHARED_START, STACK_START};
use crate::base::seed::Chance;
use crate::base::types::ScalarType;
use crate::exec::native::{Runner, Stopped};
use crate::machine::bounds::Bounds;
use crate::machine::cluster::Cluster;
use crate::machine::context::Context;
use crate::machine::fuel::Fuel;
use crate::machine::geometry::{BlockPosition, thread_of};
use crate::machine::op::Pc;
use crate::machine::program::{Class, Fixed, Native};
use crate::machine::special::Special;
use crate::machine::warp::{Tier, UNIT, Warp};
use crate::mem::arena::BLOCK_STRIDE;
use crate::mem::unwritten::{Unwritten, UnwrittenBits};
use crate::run::block::{Begun, Block, WARP_TURN};
use rumba_checks::Check;

/// The initial state of every block of a launch on a worker.
pub(crate) struct InitialState<'a> {
    pub(crate) context: &'a Context<'a>,
    worker: usize,
    caches: *mut Bounds,
    sites: *mut u64,
    pub(crate) warps: usize,
    threads: u32,
    /// Bytes of shared memory.
    shared_bytes: usize,
    /// Where blocks start.
    entry: Pc,
    /// Fixed slots that are written for each block.
    of_block: Vec<(u16, Class, Special)>,
    stack_pointer: Vec<(u16, Class, u128)>,
    /// The native code of the blocks that begin.
    pub(crate) native: Option<&'a Native>,
    /// How warps without divergence run.
    pub(crate) runner: Option<Runner<'a>>,
    /// Whether blocks may run without being started.
    pub(crate) is_alone: bool,
}

impl<'a> InitialState<'a> {
    /// The initial state of a launch on a worker, whose bounds are at `caches` and whose sites are at `sites`.
    pub(crate) fn new(context: &'a Context<'a>, worker: usize, caches: *mut Bounds, sites: *mut u64) -> Self {
        let program = context.program;
        let threads = context.threads();
        let entry = Pc::new(program.ops.as_ptr().wrapping_add(program.entry));
        let stack_pointer = program.fixed.iter().filter(|(.., value)| *value == Fixed::StackPointer);
        let shared_bytes = (context.shared_end() - SHARED_START) as usize;
        // The check of products tells which warps of a group have exited, which a runner lets warps do together.
        let native = context.native.filter(|_| program.products.is_empty());
        let runner = native.and_then(|native| Runner::of(program, native));
        let is_alone = runner.is_some()
            && !program.has_barriers
            && context.cluster_size() == 1
            && !context.cooperative
            && context.monitor.is_none()
            && context.allocations.unwritten.is_none()
            && shared_bytes == 0
            && program.shared_start >= SHARED_START
            && stack_pointer.clone().next().is_none();
        Self {
            context,
            worker,
            caches,
            sites,
            warps: threads.div_ceil(LANES as u32) as usize,
            threads,
            shared_bytes,
            entry,
            of_block: program.of_block().collect(),
            stack_pointer: stack_pointer
                .map(|(slot, class, value)| (*slot, *class, context.fixed(*value, worker, 0, 0)))
                .collect(),
            native: context.native,
            runner,
            is_alone,
        }
    }
}

#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// A block that a worker keeps, with the memory for its registers.
pub(crate) struct Resident {
    pub(crate) block: Block,
    registers: Vec<Line>,
    /// Its number among the worker's residents.
    number: usize,
    /// Number of its part of the windows for shared and local memory in the run for which the block is prepared.
    slot: usize,
    /// The number of the run for which the block is prepared.
    prepared: u64,
    /// The block whose numbers the fixed slots have.
    place: Option<BlockPosition>,
    /// Whether the warps are in the state of a block's start.
    is_fresh: bool,
    /// Number of the block in the order in which blocks are begun.
    pub(crate) index: u64,
    /// The index of its cluster among the worker's clusters, and its rank in the cluster.
    pub(crate) cluster: usize,
    pub(crate) rank: u32,
    /// When it was last found to wait for the grid; see [`GridBarrier::stalls`](crate::machine::cluster::GridBarrier::stalls).
    pub(crate) stalled: u64,
}

impl Resident {
    /// A resident that has not run a block yet; `number` is its number among the worker's residents.
    pub(crate) fn new(number: usize) -> Self {
        Self {
            block: Block::new(),
            registers: Vec::new(),
            number,
            slot: 0,
            prepared: u64::MAX,
            place: None,
            is_fresh: false,
            index: 0,
            cluster: 0,
            rank: 0,
            stalled: 0,
        }
    }

    /// Makes it run the block at `place`, as the next member of a cluster.
    ///
    /// # Errors
    /// If the system refuses memory.
    ///
    /// # Safety
    /// The cluster belongs to this worker and stays until the block has ended; none of its blocks runs.
    pub(crate) unsafe fn start(
        &mut self,
        initial: &InitialState<'_>,
        place: &BlockPosition,
        cluster: *mut Cluster,
        begun: Option<Begun>,
    ) -> std::io::Result<()> {
        let context = initial.context;
        // The warps before the warp that has begun are about to exit.
        let before = begun.map_or(0, |begun| begun.warp);
        let ends: Vec<u32> = self.block.warps[..before].iter().map(|warp| warp.pc.source).collect();
        self.is_fresh = false;
        self.place = Some(*place);
        if self.prepared != context.run {
            self.prepare(initial)?;
            self.prepared = context.run;
        }
        for (slot, class, value) in &initial.stack_pointer {
            for warp in &self.block.warps {
                // SAFETY: the slot is one of the program's.
                unsafe { fill(warp, *slot, *class, |_| *value) };
            }
        }
        for (slot, class, special) in &initial.of_block {
            let value = place.special(*special);
            for warp in &self.block.warps {
                // SAFETY: the slot is one of the program's.
                unsafe { fill(warp, *slot, *class, |_| u128::from(value)) };
            }
        }
        let base = context.shared.start + (self.slot * BLOCK_STRIDE) as u64;
        if initial.shared_bytes > 0 {
            let start = base + SHARED_START;
            // SAFETY: this part of the window was committed for this resident alone.
            unsafe { std::ptr::write_bytes(start as *mut u8, crate::mem::allocations::FRESH, initial.shared_bytes) };
            context.observe_fresh(start, initial.shared_bytes as u64);
        }
        // SAFETY: no warp runs.
        unsafe {
            (*self.block.state).shared_known =
                if context.monitor.is_some() { SHARED_START } else { context.shared_end() };
        }
        let shared_start = context.program.shared_start;
        if shared_start < SHARED_START {
            let bytes = (SHARED_START - shared_start) as usize;
            // SAFETY: this is the start of the same part of the window.
            unsafe { std::ptr::write_bytes((base + shared_start) as *mut u8, 0, bytes) };
        }
        // SAFETY: the caller's promise.
        unsafe { (*cluster).join(base, self.block.state, initial.threads) };
        if let Some(warp) = self.block.warps.first() {
            let lanes = self.block.warps.len() * LANES;
            context.observe_fresh(warp.stack_base, lanes as u64 * context.stack_stride);
        }
        context.observe_begin(self.index as u32, base + shared_start..base + context.shared_end());
        // SAFETY: no warp runs.
        unsafe { (*self.block.state).number = self.index as u32 };
        let member = (cluster, place.rank);
        // SAFETY: the caller's promise for the cluster; the barrier is the launch's, which outlives its blocks.
        unsafe {
            self.block.start(place.block, initial.threads, initial.entry, member, &context.grid_barrier, begun);
        }
        self.block.shuffle(context.seed.map(|seed| Chance::new(seed, &[context.number, self.index])));
        if context.seed.is_some() {
            self.block.warps.iter_mut().for_each(|warp| warp.tier = Tier::with(initial.native));
        }
        // SAFETY: no warp runs.
        let sync_history = unsafe { &mut (*self.block.state).sync_history };
        if context.checks.contains(Check::Sync) {
            sync_history.get_or_insert_default().begin(initial.threads);
        } else {
            *sync_history = None;
        }
        for (warp, source) in self.block.warps.iter_mut().zip(ends) {
            warp.exit_active(source);
        }
        Ok(())
    }

    /// Whether it has run blocks of the launch.
    pub(crate) fn is_prepared(&self, context: &Context<'_>) -> bool {
        self.prepared == context.run
    }

    /// Runs the block at `place` without starting it, and adds the executed operations to `executed`. Each warp runs after a
    /// call of `before` with its index. If a warp reaches
    /// an operation that needs a started block, the block must be started with this warp as the one that has begun.
    pub(crate) fn run_alone(
        &mut self,
        initial: &InitialState<'_>,
        runner: &Runner<'_>,
        place: &BlockPosition,
        before: impl Fn(usize),
        executed: &mut u64,
    ) -> Result<(), Begun> {
        if !self.is_fresh {
            self.block.reset(initial.threads, initial.entry, None);
            self.is_fresh = true;
        }
        for (slot, class, special) in &initial.of_block {
            let value = place.special(*special);
            if self.place.is_none_or(|known| known.special(*special) != value) {
                for warp in &self.block.warps {
                    // SAFETY: the slot is one of the program's.
                    unsafe { fill(warp, *slot, *class, |_| u128::from(value)) };
                }
            }
        }
        self.place = Some(*place);
        for (index, warp) in self.block.warps.iter_mut().enumerate() {
            warp.fuel = Fuel::default();
            warp.carry = 0;
            before(index);
            let begun = |pc| Begun { warp: index, pc, counted: 0 };
            // SAFETY: the warp was prepared for the launch, which holds its code.
            let stopped = unsafe { runner.run(warp, WARP_TURN, true) };
            if let Some(watch) = initial.context.watch {
                watch.look(place.block, index as u32);
            }
            match stopped {
                Stopped::AtExit => *executed += warp.executed() + u64::from(warp.pc.d),
                Stopped::AtBarrier(_) => return Err(begun(warp.pc)),
                Stopped::At(pc) => return Err(begun(pc)),
            }
        }
        Ok(())
    }

    /// Zeros all registers.
    pub(crate) fn clear_registers(&mut self) {
        self.registers.fill(Line([0; 64]));
    }

    /// Writes the values that all blocks of the launch share.
    fn prepare(&mut self, initial: &InitialState<'_>) -> std::io::Result<()> {
        let (context, warps) = (initial.context, initial.warps);
        let program = context.program;
        let register_bytes = program.units * UNIT;
        let stride = (register_bytes + program.predicates * 4).next_multiple_of(64);
        let lines = stride * warps / 64;
        if self.registers.len() < lines {
            self.registers.clear();
            self.registers.resize(lines, Line([0; 64]));
        }
        self.slot = self.number * context.active_workers + initial.worker;
        let shared_offset = self.slot * BLOCK_STRIDE;
        if initial.shared_bytes > 0 || program.shared_start < SHARED_START {
            context.arena.commit(context.shared, shared_offset + BLOCK_STRIDE)?;
        }
        let stack_bytes = context.stack_stride * (warps * LANES) as u64;
        let stack_offset = self.slot as u64 * stack_bytes;
        let stack_end = stack_offset + stack_bytes;
        if stack_end > context.local.bytes() as u64 {
            return Err(std::io::Error::from_raw_os_error(libc::ENOMEM));
        }
        let before = context.local.start - context.arena.local.start;
        context.arena.commit(context.arena.local, (before + stack_end) as usize)?;
        self.block.warps.truncate(warps);
        self.block.warps.resize_with(warps, Warp::idle);
        let memory = self.registers.as_mut_ptr().cast::<u8>();
        for (index, warp) in self.block.warps.iter_mut().enumerate() {
            let registers = memory.wrapping_add(index * stride);
            // SAFETY: the memory belongs to the resident, which keeps it as long as its warps run.
            unsafe {
                warp.set_registers(registers, registers.wrapping_add(register_bytes).cast());
            }
            // SAFETY: there are at least the two constant predicates.
            unsafe {
                *warp.predicate_place(0) = 0;
                *warp.predicate_place(1) = u32::MAX;
            }
            warp.index = index as u32;
            warp.block = self.block.state;
            warp.caches = initial.caches;
            warp.sites = initial.sites;
            warp.growths = context.growths();
            let unwritten = context.allocations.unwritten.as_ref();
            warp.unwritten = unwritten.map_or(UnwrittenBits::NONE, Unwritten::bits);
            warp.context = std::ptr::from_ref(context).cast();
            warp.tier = Tier::with(initial.native);
            warp.shared_base = context.shared.start + shared_offset as u64;
            warp.shared_end = context.shared_end();
            warp.stack_stride = context.stack_stride;
            warp.stack_known = if context.allocations.unwritten.is_some() {
                STACK_START
            } else {
                context.stack_stride.max(STACK_START)
            };
            warp.stack_base = context.local.start + stack_offset + (index * LANES) as u64 * context.stack_stride;
            for (slot, class, value) in &program.fixed {
                let value_in = |lane| context.fixed(*value, initial.worker, index, lane);
                // SAFETY: the slot is one of the program's.
                unsafe {
                    match value {
                        Fixed::Special(special) if special.is_of_lane() => fill(warp, *slot, *class, value_in),
                        _ => {
                            let value = value_in(0);
                            fill(warp, *slot, *class, |_| value);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Fills a slot.
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
    // SAFETY: a slot has 32 lanes.
    unsafe { warp.lanes::<[T; LANES]>(slot).write(std::array::from_fn(value)) };
}

impl Context<'_> {
    /// The coordinates of a thread.
    pub(crate) fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        thread_of(self.block, warp * LANES as u32 + lane)
    }

    /// The value of a fixed slot in a lane.
    fn fixed(&self, value: Fixed, worker: usize, warp: usize, lane: usize) -> u128 {
        match value {
            Fixed::Constant(bits) => bits,
            Fixed::Array(offset) => offset.into(),
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
            Special::NWarpId => u64::from(self.threads().div_ceil(LANES as u32)),
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
            Special::ReservedShared(offset) => u64::from(offset),
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

    fn parameter(&self, offset: usize, ty: ScalarType) -> u128 {
        let bytes = ty.bytes() as usize;
        let mut raw = [0; 16];
        if let Some(given) = self.parameters.get(offset..offset + bytes) {
            raw[..bytes].copy_from_slice(given);
        }
        let value = u128::from_le_bytes(raw);
        let unused = 128 - ty.bits();
        if ty.is_signed() { ((value << unused) as i128 >> unused) as u128 } else { value }
    }
}
