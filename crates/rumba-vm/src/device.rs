//! The device: its memory, its modules, its workers.

mod admission;
mod launching;
mod once;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use thiserror::Error;

use crate::base::config::Config;
use crate::base::limits;
use crate::base::pool::ThreadPool;
use crate::check::finding::Finding;
use crate::explore::Exploration;
use crate::load::error::{LoadError, Source};
use crate::load::module::{Function, Module};
use crate::load::resources::Resources;
use crate::machine::counters::Profile;
use crate::machine::printf::{Output, Sink};
use crate::machine::running::{LongLaunches, Running};
use crate::mem::allocations::{Allocation, AllocationKind, Allocations, MemoryError};
use crate::mem::arena::{Arena, LAUNCH_SLOTS, Window};
use crate::mem::atomic;
use crate::mem::heap::Heap;
use crate::mem::stacks::Stacks;
use crate::mem::unwritten::Unwritten;
use crate::run::apart::{Apart, Beside};
use crate::run::compared::{Comparisons, Counts};
use crate::run::session::Detectors;
use crate::run::slots::LaunchSlots;
use rumba_checks::{Check, FindingKind};

/// The largest size of a kernel's parameters, in bytes.
pub(crate) const MAX_PARAMETER_BYTES: usize = 32 * 1024;

/// Bytes of the state of a grid's barrier: a word with the size of the state, and the counter.
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

/// The state that a device's handles share.
pub(crate) struct Inner {
    resources: Arc<Resources>,
    output: Output,
    long_launches: OnceLock<LongLaunches>,
    heap: Heap,
    stack_bytes: AtomicU64,
    workers: usize,
    slots: LaunchSlots,
    stacks: Stacks,
    /// Launches so far, and their runs.
    launches: AtomicU64,
    runs: AtomicU64,
    /// The state of a device whose launches run on both engines.
    comparing: Option<Comparing>,
    findings: Mutex<Vec<Finding>>,
    detectors: Detectors,
    profiles: Mutex<Vec<Profile>>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("workers", &self.workers).finish_non_exhaustive()
    }
}

impl std::ops::Deref for Inner {
    type Target = Resources;

    fn deref(&self) -> &Resources {
        &self.resources
    }
}

impl Inner {
    /// The findings of the checks so far.
    fn findings(&self) -> MutexGuard<'_, Vec<Finding>> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of a device whose launches run on both engines.
#[derive(Debug, Default)]
struct Comparing {
    apart: Apart,
    counts: Counts,
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
            arena.commit(arena.parameters.of_slot(slot), MAX_PARAMETER_BYTES).map_err(Error::AddressSpace)?;
        }
        arena.commit(arena.grids, arena.grids.bytes()).map_err(Error::AddressSpace)?;
        // The windows that kernels write to lie one behind the other.
        let unwritten = config
            .checks
            .contains(Check::Init)
            .then(|| Unwritten::new(arena.shared.start..arena.heap.end, config.checks.contains(Check::InitBytes)))
            .transpose()
            .map_err(Error::AddressSpace)?;
        let stacks = Stacks::new(arena.local);
        let compares = config.engine.compares();
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
            long_launches: OnceLock::new(),
            heap: Heap::new(heap_bytes),
            stack_bytes: AtomicU64::new(stack_bytes),
            workers,
            slots: LaunchSlots::new(workers),
            stacks,
            launches: AtomicU64::new(0),
            runs: AtomicU64::new(0),
            comparing: compares.then(Comparing::default),
            findings: Mutex::default(),
            detectors: Detectors::default(),
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
        let _beside = self.beside_launches();
        self.inner.allocations.allocate(&self.inner.arena, bytes, AllocationKind::Host, origin)
    }

    /// Allocates memory that the host uses without asking the device. The memory is zero, as with NVIDIA's driver, and
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

    /// Frees memory from [`Self::allocate`].
    ///
    /// # Errors
    /// If the address is not the start of an allocation.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let _beside = self.beside_launches();
        self.inner.allocations.free(&self.inner.arena, address, &[AllocationKind::Host])
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
        let _beside = self.beside_launches();
        self.inner.allocations.register(address, bytes, AllocationKind::Host, origin);
    }

    /// Ends the access that [`Self::register`] gave to kernels.
    pub fn unregister(&self, address: u64) {
        let _beside = self.beside_launches();
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
        let _beside = self.beside_launches();
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
        let _beside = self.beside_launches();
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
        let count = map.runs(address, bytes).into_iter().map(|run| run.end - run.start).sum();
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
        let _beside = self.beside_launches();
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
        let _beside = self.beside_launches();
        let bytes = pattern.len().saturating_mul(count);
        self.inner.allocations.check("a fill", to, bytes)?;
        self.assume_written(to, bytes);
        // SAFETY: the range was just found to be allocated, and the rest is as the caller promises.
        unsafe { atomic::fill(to, pattern, count) };
        Ok(())
    }

    /// Waits until no launch that is being compared has the memory to itself. To be held while the memory is used otherwise than by
    /// the functions here; these wait themselves.
    pub fn beside_launches(&self) -> Option<Beside<'_>> {
        self.inner.comparing.as_ref().map(|comparing| comparing.apart.join())
    }

    /// The number of blocks that have ended so far, of a device whose launches are compared: whether a launch gets on.
    pub fn ended_blocks(&self) -> u64 {
        let comparing = self.inner.comparing.as_ref();
        comparing.map_or(0, |comparing| comparing.apart.beat().load(Ordering::Relaxed))
    }

    /// How many launches were compared, if the engine is [`Engine::compared`](crate::Engine::compared).
    pub fn comparisons(&self) -> Option<Comparisons> {
        Some(self.inner.comparing.as_ref()?.counts.read())
    }

    /// The contents of all memory that kernels can write to: each range with its first address. None if it is more than
    /// `most` bytes.
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
        let _beside = self.beside_launches();
        crate::load::module::load(&self.inner.resources, sources)
    }

    /// Takes the findings of the checks in all launches so far.
    pub fn take_findings(&self) -> Vec<Finding> {
        if !self.inner.config.checks.finds() {
            return Vec::new();
        }
        std::mem::take(&mut *self.inner.findings())
    }

    /// Takes the profiles of all launches so far, if [`Config::profile`] is set.
    pub fn take_profiles(&self) -> Vec<Profile> {
        let mut profiles = self.inner.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *profiles)
    }

    /// Sends what kernels print to `sink` instead of standard output.
    pub fn set_output(&self, sink: Sink) {
        self.inner.output.set(sink);
    }

    /// Has each launch that runs for longer than `after` tell of itself, and again at growing intervals, as long as its kernel prints
    /// nothing. The first call counts.
    pub fn tell_of_long_launches(&self, after: Duration, tell: impl Fn(&Running<'_>) + Send + Sync + 'static) {
        self.inner.long_launches.get_or_init(|| LongLaunches { after, tell: Box::new(tell) });
    }

    /// Sets how many bytes kernels may allocate from now on.
    pub fn set_heap_limit(&self, bytes: usize) {
        self.inner.heap.limit.store(bytes, Ordering::Relaxed);
    }

    /// Sets how many bytes of stack a thread has where a kernel's need cannot be computed.
    pub fn set_stack_limit(&self, bytes: u64) {
        self.inner.stack_bytes.store(bytes, Ordering::Relaxed);
    }
}

const fn shared<T: Send + Sync>() {}
const _: () = (shared::<Device>(), shared::<Module>(), shared::<Function>()).0;

#[cfg(test)]
mod tests;
