//! The device: its memory, its modules, its workers.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use thiserror::Error;

use crate::base::config::Config;
use crate::base::lanes::{LANES, MAX_CLUSTER, SHARED_START, STACK_START};
use crate::base::limits;
use crate::base::pool::ThreadPool;
use crate::check::finding::Finding;
use crate::check::monitor::Monitor;
use crate::check::notes::Notes;
use crate::check::race::Races;
use crate::compile::function;
use crate::explore::Exploration;
use crate::explore::past::Pasts;
use crate::load::module::{Function, LoadError, Module, Source};
use crate::load::resources::Resources;
use crate::machine::cluster::GridBarrier;
use crate::machine::context::Context;
use crate::machine::counters::{Counters, Profile};
use crate::machine::fault::LaunchError;
use crate::machine::op::has_avx2;
use crate::machine::printf::{Output, Sink};
use crate::mem::allocations::{Allocation, AllocationKind, Allocations, MemoryError};
use crate::mem::arena::{Arena, LAUNCH_SLOTS, SHARED_STRIDE, Window};
use crate::mem::atomic;
use crate::mem::heap::Heap;
use crate::mem::stacks::Stacks;
use crate::mem::unwritten::Unwritten;
use crate::run::explored;
use crate::run::launch;
use crate::run::launch::{Launch, LaunchFailure, Progress, Statistics};
use crate::run::slots::LaunchSlots;
use rumba_checks::{Check, FindingKind};

/// Bytes of parameters that a kernel may have.
pub(crate) const MAX_PARAMETER_BYTES: usize = 32 * 1024;

/// Bytes of the state of a grid's barrier: a word that says how large it is, and the counter.
const GRID_WORKSPACE_BYTES: usize = 64;

/// Why there is no device.
#[derive(Debug, Error)]
pub enum Error {
    /// No address space.
    #[error(
        "the system refused address space for device memory: {0}; lower `Config::memory_bytes` or the limit `ulimit -v`"
    )]
    AddressSpace(#[source] io::Error),
    /// No threads.
    #[error("the system refused threads for the device: {0}; lower `Config::workers`")]
    Threads(#[source] io::Error),
}

/// What a device's handles share.
pub(crate) struct Inner {
    resources: Arc<Resources>,
    output: Output,
    heap: Heap,
    stack_bytes: AtomicU64,
    workers: usize,
    slots: LaunchSlots,
    stacks: Stacks,
    launches: AtomicU64,
    findings: Mutex<Vec<Finding>>,
    /// What launches that look for races need, and others left.
    races: Mutex<Vec<Races>>,
    profiles: Mutex<Vec<Profile>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

impl std::ops::Deref for Inner {
    type Target = Resources;

    fn deref(&self) -> &Resources {
        &self.resources
    }
}

impl Inner {
    /// What the checks have found so far.
    fn findings(&self) -> MutexGuard<'_, Vec<Finding>> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn races(&self) -> MutexGuard<'_, Vec<Races>> {
        self.races.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a launch needs to look for races, of blocks of so many threads in clusters of so many blocks.
    fn take_races(&self, threads: u32, cluster: u32) -> Result<Races, LaunchError> {
        let free = self.races().pop();
        let refused = |error: io::Error| LaunchError::Checks {
            reason: error.to_string(),
        };
        let mut races = match free {
            Some(races) => races,
            None => Races::new(&self.arena).map_err(refused)?,
        };
        races
            .launch(threads, cluster, &self.allocations.registered(&self.arena))
            .map_err(refused)?;
        Ok(races)
    }

    /// Makes the memory ready in which compiled code keeps the state of a grid's barrier.
    fn grid_workspace(&self, slot: usize) -> u64 {
        let address = self.arena.grids.of_slot(slot).start;
        // SAFETY: the window was committed when the device was made, and one launch has a slot's part at a time.
        unsafe { std::ptr::write_bytes(address as *mut u8, 0, GRID_WORKSPACE_BYTES) };
        self.allocations.register(
            address,
            GRID_WORKSPACE_BYTES,
            AllocationKind::Global,
            Some("barrier of the grid".into()),
        );
        address
    }
}

/// A software device.
#[derive(Debug, Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

impl Device {
    /// Makes a device.
    ///
    /// # Errors
    /// If the system refuses address space or threads.
    pub fn new(config: Config) -> Result<Self, Error> {
        Self::make(config, None)
    }

    /// Makes a device whose launches run in the orders of an exploration: one order, for whichever was begun.
    ///
    /// # Errors
    /// If the system refuses address space or threads.
    pub fn exploring(config: Config, exploration: Exploration) -> Result<Self, Error> {
        let seed = None;
        Self::make(Config { seed, ..config }, Some(exploration))
    }

    fn make(mut config: Config, exploration: Option<Exploration>) -> Result<Self, Error> {
        config.checks = config.checks.complete();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = if config.workers == 0 { cores } else { config.workers };
        // Blocks of a cooperative launch are shared out evenly among the workers.
        let cooperative = (config.multiprocessors as usize).next_multiple_of(workers);
        let residents = cooperative.max(workers) * limits::BLOCKS_PER_MULTIPROCESSOR as usize;
        let reserve = config.memory_bytes.saturating_mul(4).clamp(1 << 30, 1 << 40);
        let arena = Arena::new(reserve, residents).map_err(Error::AddressSpace)?;
        for slot in 0..LAUNCH_SLOTS {
            arena
                .commit(arena.parameters.of_slot(slot), MAX_PARAMETER_BYTES)
                .map_err(Error::AddressSpace)?;
        }
        arena
            .commit(arena.grids, arena.grids.bytes())
            .map_err(Error::AddressSpace)?;
        // The windows that kernels write to lie one behind the other.
        let unwritten = config
            .checks
            .contains(Check::Init)
            .then(|| {
                Unwritten::new(
                    arena.shared.start..arena.heap.end,
                    config.checks.contains(Check::InitBytes),
                )
            })
            .transpose()
            .map_err(Error::AddressSpace)?;
        let stacks = Stacks::new(arena.local);
        let (heap_bytes, stack_bytes) = (config.heap_bytes, config.stack_bytes);
        let resources = Resources {
            allocations: Allocations::new(&arena, config.memory_bytes as u64, unwritten),
            pool: ThreadPool::new(workers).map_err(Error::Threads)?,
            handles: AtomicU64::new(1),
            arena,
            config,
            exploration,
        };
        let inner = Inner {
            resources: Arc::new(resources),
            output: Output::new(),
            heap: Heap::new(heap_bytes),
            stack_bytes: AtomicU64::new(stack_bytes),
            workers,
            slots: LaunchSlots::new(workers),
            stacks,
            launches: AtomicU64::new(0),
            findings: Mutex::default(),
            races: Mutex::default(),
            profiles: Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The device's name.
    pub fn name(&self) -> String {
        format!("Rumba software device ({} workers)", self.inner.workers)
    }

    /// Multiprocessors: [`Config::multiprocessors`].
    pub fn multiprocessors(&self) -> u32 {
        self.inner.config.multiprocessors
    }

    /// Allocates memory, aligned to 256 bytes. The address is also one of the host.
    ///
    /// # Errors
    /// If there is not enough, or nothing was asked for.
    pub fn allocate(&self, bytes: usize) -> Result<u64, MemoryError> {
        self.allocate_named(bytes, None)
    }

    /// Like [`Self::allocate`], with the place to name in reports.
    ///
    /// # Errors
    /// If there is not enough, or nothing was asked for.
    pub fn allocate_named(&self, bytes: usize, origin: Option<String>) -> Result<u64, MemoryError> {
        self.inner
            .allocations
            .allocate(&self.inner.arena, bytes, AllocationKind::Host, origin)
    }

    /// Allocates memory that the host uses without asking the device. It holds zeros, as that of NVIDIA's driver does, and
    /// counts as written.
    ///
    /// # Errors
    /// If there is not enough, or nothing was asked for.
    pub fn allocate_for_host(&self, bytes: usize, origin: Option<String>) -> Result<u64, MemoryError> {
        let kind = (AllocationKind::Host, 0);
        let allocations = &self.inner.allocations;
        let address = allocations.allocate_filled(&self.inner.arena, bytes, kind, origin)?;
        self.assume_written(address, bytes);
        Ok(address)
    }

    /// Frees what [`Self::allocate`] gave.
    ///
    /// # Errors
    /// If the address is not the start of an allocation.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.inner
            .allocations
            .free(&self.inner.arena, address, &[AllocationKind::Host])
    }

    /// The allocation or variable that holds an address.
    pub fn allocation(&self, address: u64) -> Option<Allocation> {
        self.inner.allocations.find(address)
    }

    /// Whether any byte of a range lies among the addresses that the device keeps for its memory, allocated or not.
    pub fn reserves(&self, address: u64, bytes: u64) -> bool {
        self.inner.arena.overlaps(address, bytes)
    }

    /// Free and total bytes of memory.
    pub fn memory_info(&self) -> (usize, usize) {
        self.inner.allocations.info()
    }

    /// Makes host memory that was not allocated here accessible to kernels.
    ///
    /// # Safety
    /// The memory stays valid until [`Self::unregister`].
    pub unsafe fn register(&self, address: u64, bytes: usize, origin: Option<String>) {
        self.inner
            .allocations
            .register(address, bytes, AllocationKind::Host, origin);
    }

    /// Takes back what [`Self::register`] gave.
    pub fn unregister(&self, address: u64) {
        self.inner.allocations.unregister(address);
    }

    /// Copies device memory to the host.
    ///
    /// # Errors
    /// If the range is not within an allocation.
    ///
    /// # Safety
    /// Until it returns, no launch and no other thread writes to the range, and nothing frees or unregisters the memory that holds it.
    pub unsafe fn read(&self, from: u64, to: &mut [u8]) -> Result<(), MemoryError> {
        self.inner.allocations.check("a read", from, to.len())?;
        self.find_unwritten(from, to.len() as u64);
        // SAFETY: the range was just found to be allocated, `to` is the caller's, and the rest is as the caller promises.
        unsafe { atomic::read(from, to) };
        Ok(())
    }

    /// Copies host memory to the device.
    ///
    /// # Errors
    /// If the range is not within an allocation.
    ///
    /// # Safety
    /// Until it returns, no launch and no other thread accesses the range, and nothing frees or unregisters the memory that holds it.
    pub unsafe fn write(&self, to: u64, from: &[u8]) -> Result<(), MemoryError> {
        self.inner.allocations.check("a write", to, from.len())?;
        // SAFETY: the range was just found to be allocated, `from` is the caller's, and the rest is as the caller promises.
        unsafe { atomic::write(to, from) };
        self.assume_written(to, from.len());
        Ok(())
    }

    /// Declares bytes written that the host writes without asking the device, for the check of reads of memory that
    /// was never written.
    pub fn assume_written(&self, address: u64, bytes: usize) {
        if let Some(map) = &self.inner.allocations.unwritten {
            map.write(address, bytes as u64);
        }
    }

    /// Notes a copy to the host of bytes that were never written.
    fn find_unwritten(&self, address: u64, bytes: u64) {
        let Some(map) = &self.inner.allocations.unwritten else {
            return;
        };
        let Some(first) = map.met_by_copy(address, bytes) else {
            return;
        };
        let count = map
            .runs(address, bytes)
            .into_iter()
            .map(|run| run.end - run.start)
            .sum();
        let finding = Finding {
            kind: FindingKind::UnwrittenCopy,
            severity: FindingKind::UnwrittenCopy.severity(),
            kernel: None,
            sides: Vec::new(),
            address: Some(first),
            place: map.explain(first, self.inner.allocations.describe(first, 1)),
            count,
            seed: self.inner.config.seed,
        };
        self.inner.findings().push(finding);
    }

    /// Copies device memory.
    ///
    /// # Errors
    /// If a range is not within an allocation.
    ///
    /// # Safety
    /// Until it returns, no launch and no other thread writes to the source or accesses the target, and nothing frees or unregisters the memory that holds them.
    pub unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), MemoryError> {
        self.inner.allocations.check("a copy from the device", from, bytes)?;
        self.inner.allocations.check("a copy to the device", to, bytes)?;
        // SAFETY: both ranges were just found to be allocated, and the rest is as the caller promises.
        unsafe { atomic::copy(from, to, bytes as u64) };
        if let Some(map) = &self.inner.allocations.unwritten {
            let allocation = self.inner.allocations.bounds(to, |allocation| allocation.start);
            map.copy(allocation, to, from, bytes as u64);
        }
        Ok(())
    }

    /// Writes `pattern` `count` times.
    ///
    /// # Errors
    /// If the range is not within an allocation.
    ///
    /// # Safety
    /// Until it returns, no launch and no other thread accesses the range, and nothing frees or unregisters the memory that holds it.
    pub unsafe fn fill(&self, to: u64, pattern: &[u8], count: usize) -> Result<(), MemoryError> {
        let bytes = pattern.len().saturating_mul(count);
        self.inner.allocations.check("a fill", to, bytes)?;
        self.assume_written(to, bytes);
        // SAFETY: the range was just found to be allocated, and the rest is as the caller promises.
        unsafe { atomic::fill(to, pattern, count) };
        Ok(())
    }

    /// What all memory holds that kernels can write to: each range with its first address. None if it is more than `most` bytes.
    ///
    /// # Safety
    /// Until it returns, no launch and no other thread writes to it, and nothing frees or unregisters any.
    pub unsafe fn contents(&self, most: usize) -> Option<Vec<(u64, Vec<u8>)>> {
        let windows = self.inner.allocations.writable();
        let bytes: usize = windows.iter().map(|window| window.bytes()).sum();
        let copy = |window: &Window| {
            let mut held = vec![0; window.bytes()];
            // SAFETY: the range is allocated, and the rest is as the caller promises.
            unsafe { atomic::read(window.start, &mut held) };
            (window.start, held)
        };
        (bytes <= most).then(|| windows.iter().map(copy).collect())
    }

    /// Loads PTX.
    ///
    /// # Errors
    /// If a source is wrong, something is not supported, or there is no room for the module's variables.
    pub fn load(&self, sources: &[Source<'_>]) -> Result<Module, LoadError> {
        crate::load::module::load(&self.inner.resources, sources)
    }

    /// Gives, and forgets, what the checks have found in the launches up to now.
    pub fn take_findings(&self) -> Vec<Finding> {
        if !self.inner.config.checks.finds() {
            return Vec::new();
        }
        std::mem::take(&mut *self.inner.findings())
    }

    /// Gives, and forgets, what the launches up to now did in numbers, if [`Config::profile`] is set.
    pub fn take_profiles(&self) -> Vec<Profile> {
        let mut profiles = self.inner.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *profiles)
    }

    /// Sends what kernels print to `sink` instead of standard output.
    pub fn set_output(&self, sink: Sink) {
        self.inner.output.set(sink);
    }

    /// Sets how many bytes kernels may allocate from now on.
    pub fn set_heap_limit(&self, bytes: usize) {
        self.inner.heap.limit.store(bytes, Ordering::Relaxed);
    }

    /// Sets how many bytes of stack a thread has where a kernel's need cannot be computed.
    pub fn set_stack_limit(&self, bytes: u64) {
        self.inner.stack_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The size of the clusters of a launch.
    fn cluster(function: &Function, launch: &Launch<'_>) -> Result<[u32; 3], LaunchError> {
        let program = &function.program;
        let size = launch.cluster.or(program.required_cluster).unwrap_or([1; 3]);
        let wrong = |reason: String| Err(LaunchError::Cluster { size, reason });
        if let Some(required) = program.required_cluster
            && required != size
        {
            return wrong(format!("the kernel requires {required:?} (.reqnctapercluster)"));
        }
        if program.explicit_cluster && launch.cluster.or(program.required_cluster).is_none() {
            return wrong("the kernel wants the launch to say how large they are (.explicitcluster)".into());
        }
        let blocks = size.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let limit = u64::from(program.max_cluster.unwrap_or(MAX_CLUSTER).min(MAX_CLUSTER));
        if blocks == 0 || blocks > limit {
            return wrong(format!("a cluster has 1 to {limit} blocks"));
        }
        let fits = launch.grid.iter().zip(size).all(|(grid, extent)| grid % extent == 0);
        if !fits && !program.blocks_are_clusters {
            let grid = launch.grid;
            return wrong(format!("the grid {grid:?} is not a multiple of that"));
        }
        Ok(size)
    }

    fn check_launch(&self, function: &Function, launch: &Launch<'_>) -> Result<u32, LaunchError> {
        let program = &function.program;
        if !Arc::ptr_eq(&function.module.device, &self.inner.resources) {
            return Err(LaunchError::OtherDevice);
        }
        let threads = launch.block.iter().map(|size| u64::from(*size)).product::<u64>();
        for (what, size, limit) in [
            ("grid", launch.grid, limits::GRID),
            ("block", launch.block, limits::BLOCK),
        ] {
            if size.contains(&0) {
                return Err(LaunchError::Empty { what, size });
            }
            if what == "block" && threads > u64::from(limits::THREADS_PER_BLOCK) {
                return Err(LaunchError::TooManyThreads {
                    threads,
                    limit: limits::THREADS_PER_BLOCK,
                    reason: "the device allows",
                });
            }
            if size.iter().zip(&limit).any(|(size, limit)| size > limit) {
                return Err(LaunchError::TooLarge { what, size, limit });
            }
        }
        if threads > u64::from(program.max_threads) {
            let limit = program.max_threads;
            return Err(LaunchError::TooManyThreads {
                threads,
                limit,
                reason: "the kernel allows (.maxntid)",
            });
        }
        if let Some(required) = program.required_block
            && required != launch.block
        {
            return Err(LaunchError::WrongBlock {
                required,
                size: launch.block,
            });
        }
        let fixed = program.shared_end - SHARED_START;
        let dynamic = u64::from(launch.dynamic_shared);
        let multiprocessor = self.inner.config.multiprocessor;
        let limit = multiprocessor.shared_per_block;
        if fixed + dynamic > u64::from(limit) || fixed + dynamic > SHARED_STRIDE as u64 - 2 * SHARED_START {
            return Err(LaunchError::TooMuchShared {
                requested: fixed + dynamic,
                fixed,
                dynamic,
                limit,
            });
        }
        if launch.parameters.len() != program.parameter_bytes {
            let (expected, given) = (program.parameter_bytes, launch.parameters.len());
            return Err(LaunchError::Parameters { expected, given });
        }
        let residency = multiprocessor
            .resident_blocks(threads as u32, 0, (fixed + dynamic) as u32)
            .max(1);
        let blocks = launch.grid.iter().map(|size| u64::from(*size)).product::<u64>();
        let limit = u64::from(residency) * u64::from(self.multiprocessors());
        if launch.cooperative && blocks > limit {
            return Err(LaunchError::TooManyCooperative { blocks, limit });
        }
        Ok(residency)
    }

    /// Refuses a launch that [`Self::launch`] would refuse.
    ///
    /// # Errors
    /// If the launch is impossible.
    pub fn check(&self, function: &Function, launch: &Launch<'_>) -> Result<(), LaunchError> {
        Self::cluster(function, launch)?;
        self.check_launch(function, launch).map(drop)
    }

    /// The text that native code of a kernel is made of, for blocks of this shape. Nothing if it would be too long.
    pub fn native_text(&self, function: &Function, block: [u32; 3]) -> Option<String> {
        let text = function::write(&function.program, function::group_of(block))?;
        Some(text.unit.text)
    }

    /// Runs a kernel and returns when it has ended. Launches of several threads run one after another, unless one takes
    /// long: then others run beside it.
    ///
    /// # Errors
    /// If the launch is impossible or the kernel makes a mistake.
    pub fn launch(&self, function: &Function, launch: &Launch<'_>) -> Result<Statistics, LaunchFailure> {
        let cluster = Self::cluster(function, launch)?;
        let mut launch = *launch;
        if function.program.blocks_are_clusters {
            for (grid, extent) in launch.grid.iter_mut().zip(cluster) {
                *grid = grid.saturating_mul(extent);
            }
        }
        let launch = &launch;
        let residency = self.check_launch(function, launch)?;
        let inner = &*self.inner;
        let program = &*function.program;
        let checks = inner.config.checks;
        let looks_for_races = checks.contains(Check::Race);
        let races = if looks_for_races {
            Some(inner.take_races(launch.block.iter().product(), cluster.iter().product())?)
        } else {
            None
        };
        let slot = inner.slots.take();
        let window = inner.arena.parameters.of_slot(slot.number);
        let parameters = window.start;
        if !launch.parameters.is_empty() {
            // SAFETY: a slot's window was committed when the device was made, and one launch has it at a time.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    launch.parameters.as_ptr(),
                    parameters as *mut u8,
                    launch.parameters.len(),
                );
            }
            inner
                .allocations
                .register(parameters, launch.parameters.len(), AllocationKind::Parameters, None);
        }
        let blocks = launch.grid.iter().map(|size| u64::from(*size)).product::<u64>();
        let clusters = usize::try_from(blocks).unwrap_or(usize::MAX) / cluster.iter().product::<u32>() as usize;
        let exploration = inner.exploration.as_ref();
        let explored = exploration.filter(|_| blocks <= explored::MOST_BLOCKS);
        if let Some(exploration) = exploration.filter(|_| explored.is_none()) {
            exploration.limit(format!(
                "a launch of `{}` has {blocks} blocks, and launches of up to {} are explored",
                program.name,
                explored::MOST_BLOCKS
            ));
        }
        let is_monitored = looks_for_races || checks.contains(Check::Init) || explored.is_some();
        let monitor = is_monitored.then(|| Monitor::new(races, explored.map(|_| Pasts::new(0, 0))));
        // What is found must not depend on which worker is faster.
        let all_workers = inner.workers;
        let workers = if looks_for_races || inner.config.seed.is_some() || exploration.is_some() {
            1
        } else {
            all_workers.min(clusters)
        };
        let resident_clusters = if launch.cooperative {
            clusters.div_ceil(workers)
        } else {
            residency as usize / (blocks as usize / clusters)
        };
        let residency = resident_clusters.max(1) * (blocks as usize / clusters);
        let grid_workspace = if launch.cooperative {
            inner.grid_workspace(slot.number)
        } else {
            0
        };
        let stack = program
            .stack_bytes
            .unwrap_or(STACK_START + program.frame_bytes + inner.stack_bytes.load(Ordering::Relaxed))
            .next_multiple_of(program.stack_align.max(16));
        // Blocks of an order that is explored are all there at once.
        let most_blocks = residency.max(if explored.is_some() { blocks as usize } else { 0 });
        let threads =
            (launch.block.iter().product::<u32>() as usize).next_multiple_of(LANES) * most_blocks * all_workers;
        let stacks = inner.stacks.take(stack.saturating_mul(threads as u64));
        let config = &inner.config;
        let full_warps = launch.block.iter().product::<u32>() >= LANES as u32;
        let plain = config.seed.is_none() && !config.profile && exploration.is_none();
        let compiler = config.engine.compiler().filter(|_| plain && monitor.is_none());
        let interest = compiler.map(|compiler| crate::run::native::of(&function.program, launch.block, &**compiler));
        let native = interest.and_then(|interest| interest.code());
        let lockstep =
            native.is_none() && config.lockstep && config.vector_instructions && has_avx2() && full_warps && plain;
        let progress = Progress::new();
        let notes = checks.finds().then(Notes::default);
        let counters = config.profile.then(|| Counters::new(program.debug.points.len()));
        let context = Context {
            program,
            lockstep: lockstep
                .then(|| crate::run::lockstep_build::of(program, launch.block))
                .flatten(),
            native,
            interest: interest.filter(|_| native.is_none()),
            arena: &inner.arena,
            allocations: &inner.allocations,
            output: &inner.output,
            heap: &inner.heap,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            parameters: launch.parameters,
            parameter_start: parameters,
            shared: inner.arena.shared.of_slot(slot.number),
            local: stacks.window,
            stack_stride: stack,
            number: inner.launches.fetch_add(1, Ordering::Relaxed),
            workers: all_workers,
            next: AtomicU64::new(0),
            residency,
            cooperative: launch.cooperative,
            cluster,
            explicit_cluster: launch.cluster.or(program.required_cluster).is_some(),
            grid_workspace,
            grid_barrier: GridBarrier::new(blocks),
            checks,
            notes: notes.as_ref(),
            profile: counters.as_ref(),
            seed: config.seed,
            explores: explored.is_some(),
            monitor: monitor.as_ref(),
            instruction_limit: inner.config.instruction_limit,
            time_limit: inner.config.time_limit,
            started: Instant::now(),
        };
        inner.pool.run(workers, &|number| {
            let mut worker = slot.worker(number);
            match explored {
                Some(exploration) => explored::work(&context, &progress, &mut worker, exploration),
                None => launch::work(&context, &progress, &mut worker),
            }
        });
        if !launch.parameters.is_empty() {
            inner.allocations.unregister(parameters);
        }
        if grid_workspace != 0 {
            inner.allocations.unregister(grid_workspace);
        }
        inner.output.flush();
        let warp_instructions = progress.executed();
        if let Some(monitor) = &monitor {
            inner.findings().extend(monitor.take(&context));
        }
        if let Some(counters) = &counters {
            let mut profiles = inner.profiles.lock().unwrap_or_else(PoisonError::into_inner);
            profiles.push(counters.profile(&context));
        }
        if let Some(notes) = &notes {
            inner.findings().extend(notes.findings(&context));
        }
        let fault = progress.fault(&context);
        if let Some(races) = monitor.and_then(Monitor::into_races) {
            inner.races().push(races);
        }
        match fault {
            Some(fault) => Err(Box::new(fault).into()),
            None => Ok(Statistics {
                warp_instructions,
                blocks,
                workers,
            }),
        }
    }
}

const fn shared<T: Send + Sync>() {}
const _: () = (shared::<Device>(), shared::<Module>(), shared::<Function>()).0;
