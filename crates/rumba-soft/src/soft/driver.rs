//! The one software device of a process: made by `cuInit`, never ended.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rumba_interface::MOST_DEVICES;

use crate::abi::{self, CUcontext, CUdevice, CUstream, wrong};
use crate::check;
use crate::error::Error;
use crate::soft::array::Array;
use crate::soft::capture;
use crate::soft::context::{self, Context, Owner};
use crate::soft::graph::{Exec, Graph, Node};
use crate::soft::handle::Handles;
use crate::soft::library::{Library, LibraryKernel};
use crate::soft::machine::{Machine, Part};
use crate::soft::memory::{Advices, Allocation, Kind, Memory, Pool};
use crate::soft::module::{Function, Link, Module};
use crate::soft::order::{AnyStream, Event, LEGACY, PER_THREAD, Stream};
use crate::soft::queue;
use crate::soft::report;
use crate::soft::vmm::{self, Addresses, Physical};
use crate::soft::work::Work;
use crate::table;

/// Everything that callers can name.
pub(crate) struct Driver {
    pub(crate) machine: Machine,
    pub(crate) memory: Memory,
    pub(crate) contexts: Handles<Context>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) links: Handles<Link>,
    pub(crate) pools: Handles<Pool>,
    /// The pool that comes with each device.
    pub(crate) default_pools: Vec<usize>,
    /// The pool that each device allocates from.
    pub(crate) device_pools: RwLock<Vec<usize>>,
    pub(crate) arrays: Handles<Array>,
    pub(crate) libraries: Handles<Library>,
    pub(crate) kernels: Handles<LibraryKernel>,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) nodes: Handles<Node>,
    pub(crate) execs: Handles<Exec>,
    pub(crate) physical: Handles<Physical>,
    pub(crate) addresses: Addresses,
    pub(crate) advice: Advices,
    /// The primary contexts of all devices.
    primaries: Vec<RwLock<Primary>>,
    ids: AtomicU64,
}

/// The primary context of a device: one handle, several lives.
#[derive(Default)]
pub(crate) struct Primary {
    /// Retained so often.
    pub(crate) retained: u32,
    pub(crate) flags: u32,
    /// The life that is active.
    pub(crate) active: Option<Owner>,
}

/// The handle of the first device's primary context, in all its lives; those of the other devices follow.
const PRIMARY: CUcontext = 0x5200_0000_1000;
const PRIMARY_STEP: usize = 16;

/// The handle of a device's primary context.
pub(crate) fn primary_handle(device: CUdevice) -> CUcontext {
    PRIMARY + device as usize * PRIMARY_STEP
}

/// The device whose primary context a handle means.
pub(crate) fn primary_device(handle: CUcontext) -> Option<CUdevice> {
    let offset = handle.checked_sub(PRIMARY)?;
    (offset.is_multiple_of(PRIMARY_STEP) && offset / PRIMARY_STEP <= MOST_DEVICES)
        .then_some((offset / PRIMARY_STEP) as CUdevice)
}

static DRIVER: OnceLock<Result<Driver, Error>> = OnceLock::new();

/// Set in a process that was forked after `cuInit`: it has the memory of the device and none of its threads. As with
/// NVIDIA's driver, nothing works in it.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Refuses a call of a forked process, and says why where that is wanted, the first time.
fn in_a_fork() -> Error {
    static SAID: Once = Once::new();
    SAID.call_once(|| report::refusal(&Error::Forked));
    Error::Forked
}

impl Driver {
    /// Makes the device, as `cuInit` does.
    pub(crate) fn init() -> Result<&'static Self, Error> {
        if FORKED.load(Ordering::Relaxed) {
            return Err(in_a_fork());
        }
        DRIVER
            // The code that a caller in C gets says nothing of the cause.
            .get_or_init(|| Self::make().inspect_err(report::refusal))
            .as_ref()
            .map_err(Clone::clone)
    }

    fn make() -> Result<Self, Error> {
        // They share one machine and its memory. The last is that of checked runs, which is not counted.
        let devices = table::devices() + 1;
        // SAFETY: the handler only stores to a static. If it cannot be registered, a forked process lacks threads
        // and finds out late.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        let pools = Handles::new("memory pool", 7);
        let default_pools: Vec<usize> =
            (0..devices).map(|device| pools.insert(|_| Pool::new(device as CUdevice)).0).collect();
        Ok(Self {
            machine: Machine::new()?,
            memory: Memory::default(),
            contexts: Handles::new("context", 1),
            modules: Handles::new("module", 2),
            functions: Handles::new("function", 3),
            streams: Handles::new("stream", 4),
            events: Handles::new("event", 5),
            links: Handles::new("link state", 6),
            pools,
            device_pools: RwLock::new(default_pools.clone()),
            default_pools,
            arrays: Handles::new("array", 8),
            libraries: Handles::new("library", 9),
            kernels: Handles::new("kernel", 10),
            graphs: Handles::new("graph", 11),
            nodes: Handles::new("graph node", 12),
            execs: Handles::new("executable graph", 13),
            physical: Handles::new("memory", 14),
            addresses: Addresses::default(),
            advice: Advices::default(),
            primaries: (0..devices).map(|_| RwLock::default()).collect(),
            ids: AtomicU64::new(1),
        })
    }

    /// The device that `cuInit` made.
    pub(crate) fn get() -> Result<&'static Self, Error> {
        match DRIVER.get() {
            Some(Ok(_)) if FORKED.load(Ordering::Relaxed) => Err(in_a_fork()),
            Some(Ok(driver)) => Ok(driver),
            Some(Err(_)) | None => Err(Error::NotInitialized),
        }
    }

    /// How many devices there are.
    pub(crate) fn device_count(&self) -> CUdevice {
        self.primaries.len() as CUdevice - 1
    }

    /// The device of checked runs, which comes after the counted devices and exists only while a run is open.
    pub(crate) fn checked_device(&self) -> CUdevice {
        self.device_count()
    }

    /// The machine's device for a context.
    pub(crate) fn part(&self, context: &Context) -> Part {
        if context.device == self.checked_device() { Part::Checked } else { Part::Plain }
    }

    /// Refuses an ordinal of no device.
    pub(crate) fn device(device: CUdevice) -> Result<&'static Self, Error> {
        let driver = Self::get()?;
        let is_checked = device == driver.checked_device() && check::is_open();
        if (0..driver.device_count()).contains(&device) || is_checked {
            Ok(driver)
        } else {
            Err(Error::InvalidDevice(device))
        }
    }

    /// The current context of the calling thread, in working order.
    pub(crate) fn current() -> Result<(&'static Self, Owner), Error> {
        let driver = Self::get()?;
        let handle = context::current_handle()?.ok_or(Error::NoContext)?;
        let context = driver.context(handle)?;
        context.usable()?;
        Ok((driver, context))
    }

    /// The context behind a handle.
    pub(crate) fn context(&self, handle: CUcontext) -> Result<Owner, Error> {
        if let Some(device) = primary_device(handle)
            && device <= self.checked_device()
        {
            return self.primary(device).active.clone().ok_or(Error::ContextDestroyed);
        }
        self.contexts.get(handle).map_err(|_| {
            if self.contexts.was_issued(handle) { Error::ContextDestroyed } else { Error::UnknownContext(handle) }
        })
    }

    /// The primary context of a valid device.
    pub(crate) fn primary(&self, device: CUdevice) -> RwLockReadGuard<'_, Primary> {
        self.primaries[device as usize].read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The primary context of a valid device, for writing.
    pub(crate) fn primary_mut(&self, device: CUdevice) -> RwLockWriteGuard<'_, Primary> {
        self.primaries[device as usize].write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device of a context, also of one that was destroyed.
    pub(crate) fn device_of(&self, handle: CUcontext) -> CUdevice {
        match primary_device(handle) {
            Some(device) => device,
            None => self.contexts.get(handle).map_or(0, |context| context.device),
        }
    }

    /// Where work for `stream` goes: 0 is the default stream of the current context, as are the names that
    /// NVIDIA gives it (1, and 2 for that of the thread).
    pub(crate) fn stream(stream: CUstream) -> Result<(&'static Self, AnyStream), Error> {
        if stream <= PER_THREAD {
            let (driver, context) = Self::current()?;
            let stream = if stream == PER_THREAD || stream != LEGACY && abi::is_per_thread() {
                AnyStream::of_thread(context)?
            } else {
                AnyStream::Default(context)
            };
            return Ok((driver, stream));
        }
        let driver = Self::get()?;
        context::current_handle()?;
        let stream = driver.streams.get(stream)?;
        stream.context.usable()?;
        Ok((driver, AnyStream::Stream(stream)))
    }

    /// An event of a context in working order.
    pub(crate) fn event(event: usize) -> Result<Arc<Event>, Error> {
        // Without cuInit there is no event that the handle could mean.
        let driver = Self::get().map_err(|_| Error::Handle { kind: "event", value: event })?;
        let event = driver.events.get(event)?;
        event.context.usable()?;
        Ok(event)
    }

    /// A number that is never given twice.
    pub(crate) fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// How many objects of each kind are alive, and bytes of memory.
    pub(crate) fn objects(&self) -> [(&'static str, u64); 21] {
        let primaries = || (0..=self.checked_device()).map(|device| self.primary(device));
        let (free, total) = self.memory_info();
        let (allocations, allocated) = self.memory.count();
        let (reservations, mappings) = self.addresses.lock().count();
        let count = |objects: usize| objects as u64;
        [
            ("context", count(self.contexts.count())),
            ("primary context", count(primaries().filter(|primary| primary.active.is_some()).count())),
            ("retained primary context", primaries().map(|primary| u64::from(primary.retained)).sum()),
            ("module", count(self.modules.count())),
            ("function", count(self.functions.count())),
            ("stream", count(self.streams.count())),
            ("event", count(self.events.count())),
            ("link state", count(self.links.count())),
            ("memory pool", count(self.pools.count())),
            ("array", count(self.arrays.count())),
            ("library", count(self.libraries.count())),
            ("kernel of a library", count(self.kernels.count())),
            ("graph", count(self.graphs.count())),
            ("graph node", count(self.nodes.count())),
            ("executable graph", count(self.execs.count())),
            ("memory without an address", count(self.physical.count())),
            ("reservation", count(reservations)),
            ("mapping", count(mappings)),
            ("allocation", count(allocations)),
            ("allocated byte", allocated),
            ("byte of the machine in use", total - free),
        ]
    }

    /// Free and total bytes of memory.
    pub(crate) fn memory_info(&self) -> (u64, u64) {
        let (free, total) = self.machine.memory();
        (free.saturating_sub(vmm::held()), total)
    }

    /// Allocates memory for a context.
    pub(crate) fn allocate(&self, context: &Context, bytes: u64, kind: Kind) -> Result<u64, Error> {
        let (free, _) = self.memory_info();
        if bytes > free {
            return Err(Error::OutOfMemory { asked: bytes, free });
        }
        let part = self.part(context);
        let start = match kind {
            Kind::Managed | Kind::Host { .. } => self.machine.allocate_for_host(part, bytes)?,
            _ => self.machine.allocate(part, bytes)?,
        };
        self.record(start, bytes, kind, Some(context));
        Ok(start)
    }

    /// Notes memory that kernels may use from now on.
    fn record(&self, start: u64, bytes: u64, kind: Kind, context: Option<&Context>) {
        let (context, life) = context.map_or((0, 0), |context| (context.handle, context.life));
        let id = self.id();
        self.memory.insert(Allocation { start, bytes, kind, context, life, id });
    }

    /// Frees the allocation that starts at `start`, if it is of a fitting kind.
    pub(crate) fn free(&self, start: u64, expected: &'static str, fits: impl Fn(Kind) -> bool) -> Result<(), Error> {
        capture::refuse_unsafe()?;
        let allocation = self.memory.remove(start, fits).ok_or(Error::NotAllocated { address: start, expected })?;
        // Work that is under way may use it.
        if let Ok(context) = self.context(allocation.context) {
            context.finish();
        }
        self.give_back(&allocation)
    }

    /// Frees an allocation in the order of a stream.
    pub(crate) fn free_later(
        &self,
        stream: &AnyStream,
        start: u64,
        expected: &'static str,
        fits: impl Fn(Kind) -> bool,
    ) -> Result<(), Error> {
        let allocation = self.memory.remove(start, fits).ok_or(Error::NotAllocated { address: start, expected })?;
        stream.submit(Work::Free(allocation)).map(drop)
    }

    /// Returns memory to the machine, or to the host whose own it is.
    pub(crate) fn give_back(&self, allocation: &Allocation) -> Result<(), Error> {
        if let Kind::Registered { .. } = allocation.kind {
            self.machine.unregister(allocation.start);
            // The host may free the memory next, and work of other contexts may use it, too.
            queue::wait_for_running_work();
            return Ok(());
        }
        self.machine.free(allocation.start)
    }

    /// Lets kernels use the host's own memory.
    ///
    /// # Safety
    /// The memory outlives the registration, and may be read and written meanwhile.
    pub(crate) unsafe fn register(&self, context: &Context, start: u64, bytes: u64, flags: u32) -> Result<(), Error> {
        capture::refuse_unsafe()?;
        if let Some(allocation) = self.memory.holding(start)
            && !matches!(allocation.kind, Kind::Registered { .. })
        {
            return Err(wrong("p", format!("{start:#x}"), "it is memory that the driver allocated"));
        }
        let outside = || {
            let reason = "not all of it is memory of the program that has an address";
            wrong("bytesize", bytes, reason)
        };
        let memory = vmm::memory_of_the_host();
        if bytes > memory {
            return Err(Error::OutOfMemory { asked: bytes, free: memory });
        }
        if !vmm::is_mapped_by_the_system(start, bytes) {
            return Err(outside());
        }
        if self.memory.overlaps(start, bytes) {
            return Err(Error::Registered(start));
        }
        if !self.is_of_host(start, bytes) {
            return Err(outside());
        }
        // SAFETY: the caller's promise.
        unsafe { self.machine.register(self.part(context), start, bytes) };
        self.record(start, bytes, Kind::Registered { flags }, Some(context));
        Ok(())
    }

    /// Lets kernels use mapped memory. It belongs to no context.
    ///
    /// # Safety
    /// The range is mapped, and stays so until it is hidden.
    pub(crate) unsafe fn show(&self, start: u64, bytes: u64) {
        // SAFETY: the caller's promise.
        unsafe { self.machine.register(Part::Plain, start, bytes) };
        self.record(start, bytes, Kind::Mapped, None);
    }

    /// Takes mapped memory back from kernels. Work that is running may still use it: see [`queue::wait_for_running_work`].
    pub(crate) fn hide(&self, start: u64, bytes: u64) {
        for allocation in self.memory.remove_mapped(start, bytes) {
            self.machine.unregister(allocation.start);
        }
    }

    /// Whether an address is the machine's memory.
    fn knows(&self, address: u64) -> bool {
        self.memory.holding(address).is_some() || self.machine.holding(address).is_some()
    }

    /// Whether a range is the host's own: the machine neither knows it nor keeps its addresses for itself.
    pub(crate) fn is_of_host(&self, address: u64, bytes: u64) -> bool {
        address.checked_add(bytes).is_some()
            && !self.knows(address)
            && !self.machine.reserves(address, bytes)
            && !self.addresses.lock().reserves(address, bytes)
    }

    /// Accesses live memory of the machine, which is not taken away meanwhile.
    pub(crate) fn while_live<R>(&self, address: u64, bytes: u64, access: impl Fn() -> R) -> Result<R, Error> {
        if let Some(result) = self.memory.while_held(address, bytes, &access) {
            return Ok(result);
        }
        // Variables of modules are not in the table; their memory stays the machine's when a module is gone.
        self.check(address, bytes)?;
        Ok(access())
    }

    /// Refuses a range that no single allocation or module variable holds.
    pub(crate) fn check(&self, address: u64, bytes: u64) -> Result<(), Error> {
        let holds = |start: u64, size: u64| {
            let offset = address - start;
            offset <= size && bytes <= size - offset
        };
        let fits = match self.memory.holding(address) {
            Some(allocation) => holds(allocation.start, allocation.bytes),
            None => self.machine.holding(address).is_some_and(|(start, size)| holds(start, size)),
        };
        if fits { Ok(()) } else { Err(Error::Range { address, bytes }) }
    }

    /// Ends a life of a context and everything made in it.
    pub(crate) fn destroy(&self, context: &Context) {
        context.destroy();
        for allocation in self.memory.remove_owned(context.life) {
            // The machine knows every address of the table.
            let _ = self.give_back(&allocation);
        }
        self.streams.orphan(|stream| stream.context.life == context.life);
        self.events.orphan(|event| event.context.life == context.life);
        self.functions.retain(|function| function.context.life != context.life);
        self.modules.retain(|module| module.context.life != context.life);
        self.arrays.retain(|array| array.context.life != context.life);
        self.links.retain(|link| link.context.life != context.life);
    }
}
