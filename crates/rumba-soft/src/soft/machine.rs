//! The SIMT machine as the driver uses it; with `checks`, `comparison`, `engine` and `findings`, the only file that names
//! `rumba_vm`.
//!
//! Turns its errors into result codes; decides nothing else.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rumba_interface::check::{Explored, Finding, Options, Order, counted};
use rumba_interface::environment::cache_folder;
use rumba_vm::{
    Beside, Comparisons, Config, Device, Exploration, ExplorationBound, FaultKind, LaunchError, LaunchFailure,
    LoadError, MemoryError, Running,
};

use crate::check;
use crate::code::Code;
use crate::error::Error;
use crate::findings;
use crate::log;
use crate::names;
use crate::soft::checks;
use crate::soft::comparison;
use crate::soft::engine;
use crate::soft::image::Source;
use crate::soft::verdict;
use crate::table;

/// The machine.
pub(crate) struct Machine {
    device: Device,
    config: Config,
    /// The device of the checked run that is open.
    checked: RwLock<Option<Device>>,
    /// The exploration that checked runs belong to.
    exploration: Mutex<Option<Exploration>>,
    /// The exploration of each single launch, if the environment asks for that.
    orders: Option<Mutex<Exploration>>,
}

/// One of the machine's devices. Each context belongs to one part, and so does each address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The device that always exists, configured by the environment.
    Plain,
    /// The device of the open checked run.
    Checked,
}

/// PTX with its names, if reports may have to show it.
type Texts = Arc<[(String, String)]>;

/// A loaded set of PTX texts.
pub(crate) struct Program {
    module: rumba_vm::Module,
    part: Part,
    device: Device,
    texts: Texts,
    /// The requested bound of registers. The machine never spills registers: the bound only appears in the kernels'
    /// attributes.
    max_registers: Option<u32>,
}

/// One kernel of a program, with the attributes that the driver asks for often.
pub(crate) struct Kernel {
    function: rumba_vm::Function,
    part: Part,
    device: Device,
    texts: Texts,
    needs: Needs,
    parameters: Vec<Parameter>,
}

/// The resources that a kernel needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs {
    pub(crate) registers: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) const_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) max_threads_per_block: u32,
    pub(crate) ptx_version: u32,
}

/// One parameter of a kernel in its parameter block.
pub(crate) struct Parameter {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

pub(crate) use rumba_vm::{HostWaits, Launch};

/// A kernel that failed while it ran.
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) report: String,
    /// The failed assertion, as NVIDIA's driver would write it to standard error.
    pub(crate) assertion: Option<String>,
    /// Whether the fault is a bug of the machine: its two engines differ.
    pub(crate) is_of_machine: bool,
}

impl Machine {
    pub(crate) fn new() -> Result<Self, Error> {
        let config = config()?;
        let orders = checks::orders()?;
        if config.engine.compares() {
            comparison::count_at_exit();
        }
        watch_the_end()?;
        if let Some(folder) = cache_folder() {
            rumba_vm::remember_texts(folder.join("texts").join(table::SOURCES));
        }
        Ok(Self {
            device: match &orders {
                None => make(config.clone())?,
                Some(exploration) => explore(config.clone(), exploration.clone())?,
            },
            orders: orders.map(Mutex::new),
            config,
            checked: RwLock::default(),
            exploration: Mutex::default(),
        })
    }

    /// Makes the device of a checked run.
    pub(crate) fn open_checked(&self, options: &Options) -> Result<(), Error> {
        let config = Config {
            checks: options.checks.iter().copied().collect(),
            seed: Some(options.seed),
            ..self.config.clone()
        };
        let device = match &options.order {
            None => {
                // An exploration that was given up has no further orders.
                *self.exploration.lock().unwrap_or_else(PoisonError::into_inner) = None;
                make(config)?
            }
            Some(order) => {
                let exploration = self.exploration(order)?;
                exploration.begin();
                explore(config, exploration)?
            }
        };
        *self.checked.write().unwrap_or_else(PoisonError::into_inner) = Some(device);
        Ok(())
    }

    /// The exploration that an order is one of.
    fn exploration(&self, order: &Order) -> Result<Exploration, Error> {
        let mut current = self.exploration.lock().unwrap_or_else(PoisonError::into_inner);
        let bound =
            |orders, steps: u64| ExplorationBound { orders, steps: usize::try_from(steps).unwrap_or(usize::MAX) };
        match order {
            Order::Next { is_first: false, .. } if current.is_some() => {}
            Order::Next { orders, steps, .. } => *current = Some(Exploration::new(bound(*orders, *steps))),
            Order::Replay { schedule, steps } => {
                let exploration = Exploration::replaying(schedule, bound(1, *steps));
                *current = Some(exploration.map_err(|error| Error::Device(error.to_string()))?);
            }
        }
        Ok(current.clone().unwrap_or_default())
    }

    /// Ends the order of the run, if it is one of an exploration.
    pub(crate) fn end_order(&self) -> Option<Explored> {
        let mut current = self.exploration.lock().unwrap_or_else(PoisonError::into_inner);
        let exploration = current.clone()?;
        let is_left = exploration.is_left();
        let schedule = findings::of_schedule(exploration.schedule());
        let has_more = exploration.end();
        if !has_more {
            *current = None;
        }
        let report = exploration.report();
        Some(Explored {
            schedule,
            is_left,
            has_more,
            orders: report.orders,
            redundant: report.redundant,
            limits: report.limits,
        })
    }

    /// Ends it, once it is not used any more.
    pub(crate) fn close_checked(&self) {
        *self.checked.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The device of a part.
    fn device(&self, part: Part) -> Device {
        let checked = self.checked.read().unwrap_or_else(PoisonError::into_inner);
        match (part, &*checked) {
            (Part::Checked, Some(device)) => device.clone(),
            (Part::Plain | Part::Checked, _) => self.device.clone(),
        }
    }

    /// The part with the device that an address belongs to.
    fn holder(&self, address: u64) -> (Part, Device) {
        let checked = self.checked.read().unwrap_or_else(PoisonError::into_inner);
        match &*checked {
            Some(device) if device.allocation(address).is_some() => (Part::Checked, device.clone()),
            _ => (Part::Plain, self.device.clone()),
        }
    }

    pub(crate) fn name(&self) -> String {
        self.device.name()
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        self.device.multiprocessors()
    }

    /// Free and total bytes of memory.
    pub(crate) fn memory(&self) -> (u64, u64) {
        let (free, total) = self.device.memory_info();
        (free as u64, total as u64)
    }

    pub(crate) fn allocate(&self, part: Part, bytes: u64) -> Result<u64, Error> {
        let device = self.device(part);
        let origin = check::origin();
        device.allocate_named(bytes as usize, origin).map_err(memory_error)
    }

    /// Allocates memory that the host writes to without asking.
    pub(crate) fn allocate_for_host(&self, part: Part, bytes: u64) -> Result<u64, Error> {
        let device = self.device(part);
        let origin = check::origin();
        device.allocate_for_host(bytes as usize, origin).map_err(memory_error)
    }

    pub(crate) fn free(&self, start: u64) -> Result<(), Error> {
        self.holder(start).1.free(start).map_err(memory_error)
    }

    /// Lets kernels use memory of the host's own, which stays the host's.
    ///
    /// # Safety
    /// The memory outlives the registration, and may be read and written meanwhile.
    pub(crate) unsafe fn register(&self, part: Part, start: u64, bytes: u64) {
        let device = self.device(part);
        // SAFETY: the caller's promise.
        unsafe {
            device.register(start, bytes as usize, Some("cuMemHostRegister".into()));
        };
    }

    pub(crate) fn unregister(&self, start: u64) {
        self.holder(start).1.unregister(start);
    }

    /// Start and size of the allocation or module variable that holds an address.
    pub(crate) fn holding(&self, address: u64) -> Option<(u64, u64)> {
        let allocation = self.holder(address).1.allocation(address)?;
        Some((allocation.start, allocation.bytes as u64))
    }

    /// Whether any byte of a range belongs to the addresses that its devices keep for themselves, allocated or not.
    pub(crate) fn reserves(&self, address: u64, bytes: u64) -> bool {
        let checked = self.checked.read().unwrap_or_else(PoisonError::into_inner);
        let mut devices = checked.iter().chain([&self.device]);
        devices.any(|device| device.reserves(address, bytes))
    }

    pub(crate) fn read(&self, source: u64, target: &mut [u8]) -> Result<(), Error> {
        let (part, device) = self.holder(source);
        // SAFETY: CUDA demands of its callers that nothing else uses what is copied or set, nor frees it.
        let outcome = unsafe { device.read(source, target) }.map_err(memory_error);
        if part == Part::Checked {
            check::copied(target);
        }
        let found = device.take_findings();
        if !found.is_empty() {
            tell(part, found.iter().map(findings::of_finding).collect());
        }
        outcome
    }

    pub(crate) fn write(&self, target: u64, source: &[u8]) -> Result<(), Error> {
        let (part, device) = self.holder(target);
        if part == Part::Checked {
            check::written(source, |word| device.reserves(word, 1) || self.device.reserves(word, 1));
        }
        // SAFETY: as in `read`.
        unsafe { device.write(target, source) }.map_err(memory_error)
    }

    pub(crate) fn copy(&self, target: u64, source: u64, bytes: u64) -> Result<(), Error> {
        let ((to, device), (from, other)) = (self.holder(target), self.holder(source));
        if to == from {
            // SAFETY: as in `read`.
            return unsafe { device.copy(target, source, bytes as usize) }.map_err(memory_error);
        }
        let mut staged = vec![0; bytes as usize];
        // SAFETY: as in `read`.
        unsafe {
            other.read(source, &mut staged).map_err(memory_error)?;
            device.write(target, &staged).map_err(memory_error)
        }
    }

    pub(crate) fn fill(&self, target: u64, element: &[u8], count: u64) -> Result<(), Error> {
        let (_, device) = self.holder(target);
        // SAFETY: as in `read`.
        unsafe { device.fill(target, element, count as usize) }.map_err(memory_error)
    }

    pub(crate) fn load(&self, part: Part, sources: &[Source]) -> Result<Program, Error> {
        let device = self.device(part);
        let max_registers = sources.iter().filter_map(|source| source.max_registers).min();
        let sources: Vec<_> =
            sources.iter().map(|source| rumba_vm::Source { name: &source.name, ptx: &source.ptx }).collect();
        match device.load(&sources) {
            Ok(module) => Ok(Program { module, part, texts: self.texts(part, &sources), device, max_registers }),
            Err(LoadError::Memory { error, .. }) => Err(memory_error(error)),
            Err(error @ LoadError::Source(_)) => Err(Error::Ptx { log: error.short(), report: error.to_string() }),
        }
    }

    /// The sources, if reports may have to show them.
    fn texts(&self, part: Part, sources: &[rumba_vm::Source<'_>]) -> Texts {
        let wanted = part == Part::Checked || self.config.checks != rumba_vm::CheckSet::default();
        let texts = sources.iter().filter(|_| wanted);
        texts.map(|source| (source.name.to_owned(), source.ptx.to_owned())).collect()
    }

    /// Refuses a launch that would not begin.
    pub(crate) fn check(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), Error> {
        kernel.device.check(&kernel.function, launch).map_err(launch_error)
    }

    /// Runs a kernel to its end; the inner error is the kernel's failure.
    pub(crate) fn launch(
        &self,
        host: &HostWaits,
        kernel: &Kernel,
        launch: &Launch<'_>,
    ) -> Result<Result<(), Fault>, Error> {
        match kernel.part {
            Part::Checked => check::launched(kernel.function.name()),
            Part::Plain => verdict::launched(),
        }
        if let Some(exploration) = self.orders.as_ref().filter(|_| kernel.part == Part::Plain) {
            return self.in_all_orders(kernel, launch, exploration);
        }
        self.once(host, kernel, launch, None)
    }

    /// Whether launches run on both engines.
    pub(crate) fn compares(&self) -> bool {
        self.config.engine.compares()
    }

    /// The number of blocks that have ended, if launches run on both engines.
    pub(crate) fn ended_blocks(&self) -> u64 {
        self.device.ended_blocks()
    }

    /// How many launches were compared, if launches run on both engines.
    pub(crate) fn comparisons(&self) -> Option<Comparisons> {
        self.device.comparisons()
    }

    /// Waits until the memory can be used beside launches that are being compared, and keeps it so.
    pub(crate) fn beside_launches(&self) -> Option<Beside<'_>> {
        self.device.beside_launches()
    }

    /// Runs a kernel in all orders of its synchronising operations, each from the same memory. What fails in any of them fails.
    fn in_all_orders(
        &self,
        kernel: &Kernel,
        launch: &Launch<'_>,
        exploration: &Mutex<Exploration>,
    ) -> Result<Result<(), Fault>, Error> {
        let exploration = exploration.lock().unwrap_or_else(PoisonError::into_inner);
        let name = kernel.function.name();
        // SAFETY: CUDA demands of its callers that nothing else uses what a kernel does; launches take turns here.
        let Some(memory) = (unsafe { kernel.device.contents(MOST_CONTENTS) }) else {
            log::write(format_args!("kernel `{name}`: not explored: more than {MOST_CONTENTS} bytes are allocated\n"));
            return self.once(&HostWaits::no(), kernel, launch, None);
        };
        exploration.restart();
        let mut failed = None;
        loop {
            exploration.begin();
            let outcome = self.once(&HostWaits::no(), kernel, launch, Some(&exploration))?;
            let has_more = exploration.end();
            if let Err(fault) = outcome {
                failed.get_or_insert(fault);
            }
            if !has_more {
                break;
            }
            for (start, bytes) in &memory {
                // SAFETY: as above. What is allocated does not change between the orders.
                unsafe { kernel.device.write(*start, bytes) }.map_err(memory_error)?;
            }
        }
        let report = exploration.report();
        let orders = report.orders;
        if report.limits.is_empty() {
            log::write(format_args!("kernel `{name}`: complete: {orders} orders\n"));
        } else {
            let limits = report.limits.join("; ");
            log::write(format_args!("kernel `{name}`: not complete, {orders} orders: {limits}\n"));
        }
        Ok(failed.map_or(Ok(()), Err))
    }

    /// Runs a kernel to its end, in an order of an exploration if there is one.
    fn once(
        &self,
        host: &HostWaits,
        kernel: &Kernel,
        launch: &Launch<'_>,
        order: Option<&Exploration>,
    ) -> Result<Result<(), Fault>, Error> {
        let device = &kernel.device;
        let started = Instant::now();
        let outcome = device.launch_for(host, &kernel.function, launch);
        engine::say_if_slow(started.elapsed());
        let found = device.take_findings();
        if order.is_some_and(Exploration::is_left) {
            return Ok(Ok(()));
        }
        checks::write_profiles(&device.take_profiles());
        let fault = match &outcome {
            Err(LaunchFailure::Fault(fault)) => Some(findings::of_fault(fault)),
            Ok(_) | Err(LaunchFailure::Refused(_)) => None,
        };
        if fault.is_some() || !found.is_empty() {
            let found = found.iter().map(findings::of_finding).chain(fault);
            let found = found.map(|finding| finding.with_ptx(|name, line| kernel.line(name, line)));
            let replay = order.map(|order| order.schedule().replay);
            let found = found.map(|finding| match &replay {
                Some(replay) => finding.in_order(replay),
                None => finding,
            });
            tell(kernel.part, check::merge(found));
        }
        match outcome {
            Ok(_) => Ok(Ok(())),
            Err(LaunchFailure::Fault(mut fault)) => {
                let code = fault_code(fault.kind);
                fault.kernel = names::readable(&fault.kernel);
                Ok(Err(Fault {
                    code,
                    report: fault.to_string(),
                    assertion: assertion(&fault),
                    is_of_machine: fault.kind == FaultKind::EngineDifference,
                }))
            }
            Err(LaunchFailure::Refused(refusal)) => Err(launch_error(refusal)),
        }
    }

    /// Sets how many bytes kernels may allocate.
    pub(crate) fn set_heap_limit(&self, bytes: usize) {
        self.device.set_heap_limit(bytes);
    }

    /// Sets how many bytes of stack threads have where that is not known from the kernel.
    pub(crate) fn set_stack_limit(&self, bytes: u64) {
        self.device.set_stack_limit(bytes);
    }
}

impl Program {
    /// Whether its kernels run on this part, also after others have opened and closed there.
    pub(crate) fn is_of(&self, part: Part) -> bool {
        self.part == part && part == Part::Plain
    }

    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let function = self.module.function(name).ok_or_else(|| match self.module.refusal(name) {
            Some(refusal) => Error::NotExecuted(refusal.to_string()),
            None => Error::NotFound { kind: "kernel", name: name.to_owned() },
        })?;
        let attributes = function.attributes();
        let needs = Needs {
            registers: attributes.registers.min(self.max_registers.unwrap_or(u32::MAX)),
            shared_bytes: attributes.shared_bytes as u32,
            const_bytes: attributes.const_bytes as u32,
            local_bytes: attributes.local_bytes as u32,
            max_threads_per_block: attributes.max_threads_per_block,
            ptx_version: attributes.ptx_version,
        };
        let parameters = function.parameters().iter();
        let parameters = parameters.map(|one| Parameter { offset: one.offset, bytes: one.bytes }).collect();
        Ok(Kernel {
            needs,
            parameters,
            function,
            part: self.part,
            device: self.device.clone(),
            texts: Arc::clone(&self.texts),
        })
    }

    /// The names of all kernels that can run.
    pub(crate) fn kernel_names(&self) -> Vec<String> {
        self.module.names().map(str::to_owned).collect()
    }

    /// Address and size of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<(u64, u64)> {
        self.module.global(name).map(|(address, bytes)| (address, bytes as u64))
    }
}

impl Kernel {
    /// A line of the PTX of this name, if it was kept.
    fn line(&self, name: &str, line: u32) -> Option<String> {
        let (_, text) = self.texts.iter().find(|(known, _)| known == name)?;
        text.lines().nth((line as usize).checked_sub(1)?).map(str::to_owned)
    }

    pub(crate) fn needs(&self) -> &Needs {
        &self.needs
    }

    pub(crate) fn parameter_bytes(&self) -> usize {
        self.function.parameter_bytes()
    }

    /// The clusters that the kernel requires, and the most blocks of one that it allows.
    pub(crate) fn cluster(&self) -> Option<[u32; 3]> {
        self.function.required_cluster()
    }

    pub(crate) fn most_blocks_of_cluster(&self) -> Option<u32> {
        self.function.max_cluster()
    }

    pub(crate) fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }
}

/// Refuses PTX that cannot be parsed.
pub(crate) fn check_syntax(source: &Source) -> Result<(), Error> {
    match rumba_ptx::parse(&source.ptx) {
        Ok(_) => Ok(()),
        Err(errors) => {
            let report = rumba_ptx::Report::new(&source.name, &source.ptx);
            let log = report.short_log(&errors);
            let report = errors.iter().map(|error| report.render(error)).collect::<Vec<_>>().join("\n\n");
            Err(Error::Ptx { log, report })
        }
    }
}

fn make(config: Config) -> Result<Device, Error> {
    let device = Device::new(config).map_err(|error| Error::Device(error.to_string()))?;
    watch(&device);
    Ok(device)
}

/// Lets launches that take long say so, unless the environment asks for silence.
fn watch(device: &Device) {
    if std::env::var_os("RUMBA_LOG").is_none_or(|level| level != "off") {
        device.tell_of_long_launches(LONG, |running| log::write(format_args!("{}", alive(running))));
    }
}

/// The message about a long launch.
fn alive(running: &Running<'_>) -> String {
    let limit = match running.time_limit {
        Some(limit) => format!("{TIMEOUT} ends it after {} s", limit.as_secs_f64()),
        None => format!("{TIMEOUT}=0 sets no limit"),
    };
    format!(
        "kernel `{}` has run for {} s, and {} of {} have ended; {limit}",
        names::readable(running.kernel),
        running.elapsed.as_secs(),
        running.ended,
        counted(running.blocks, "block"),
    )
}

/// How long a launch runs before it says so.
const LONG: Duration = Duration::from_secs(10);

/// The variable that limits how long a launch may run.
const TIMEOUT: &str = "RUMBA_TIMEOUT";

/// Makes a device that explores.
fn explore(config: Config, exploration: Exploration) -> Result<Device, Error> {
    // Each launch has one worker.
    let config = Config { workers: 1, ..config };
    let device = Device::exploring(config, exploration).map_err(|error| Error::Device(error.to_string()))?;
    watch(&device);
    Ok(device)
}

/// Tells of findings those who want to know.
fn tell(part: Part, found: Vec<Finding>) {
    match part {
        Part::Plain => checks::report(&found),
        Part::Checked => check::add(found),
    }
}

fn launch_error(refusal: LaunchError) -> Error {
    match refusal {
        LaunchError::TooManyCooperative { blocks, limit } => Error::TooManyBlocks { blocks, resident: limit },
        refusal @ LaunchError::Cluster { .. } => Error::Cluster(refusal.to_string()),
        refusal => Error::Launch(refusal.to_string()),
    }
}

fn memory_error(error: MemoryError) -> Error {
    match error {
        MemoryError::OutOfMemory { requested, free, .. } => {
            Error::OutOfMemory { asked: requested as u64, free: free as u64 }
        }
        MemoryError::System { requested, .. } => Error::OutOfMemory { asked: requested as u64, free: 0 },
        error => Error::Memory(error.to_string()),
    }
}

/// The line that a failed assertion writes, in NVIDIA's form.
fn assertion(fault: &rumba_vm::Fault) -> Option<String> {
    if fault.kind != FaultKind::Assert {
        return None;
    }
    let place = fault.location().map(|location| format!("{location}: ")).unwrap_or_default();
    let ([bx, by, bz], [tx, ty, tz]) = (fault.block, fault.thread);
    let message = &fault.message;
    Some(format!("{place}block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}] Assertion `{message}` failed."))
}

/// The configuration that the environment asks for.
fn config() -> Result<Config, Error> {
    let default = Config { multiprocessor: table::multiprocessor(), ..Config::default() };
    let seconds = |text: &str| Duration::try_from_secs_f64(text.parse().ok()?).ok();
    let mebibytes = |text: &str| text.parse::<usize>().ok()?.checked_mul(1 << 20).filter(|bytes| *bytes > 0);
    let engine = setting(engine::ENGINE, engine::Choice::VALUES, engine::Choice::parse)?;
    let seed = setting("RUMBA_CHECK_SEED", "a number", |text| text.parse().ok())?;
    Ok(Config {
        checks: checks::wanted()?,
        seed,
        profile: checks::profile_path().is_some(),
        time_limit: match setting(TIMEOUT, "the seconds that a launch may take, or 0 for no limit", seconds)? {
            Some(Duration::ZERO) => None,
            Some(limit) => Some(limit),
            None => default.time_limit,
        },
        workers: setting("RUMBA_WORKERS", "how many threads run blocks, or 0 for one per core", |text| {
            text.parse().ok().filter(|workers| *workers <= MOST_WORKERS)
        })?
        .unwrap_or(default.workers),
        multiprocessors: setting("RUMBA_MULTIPROCESSORS", "a number of multiprocessors from 1 to 1024", |text| {
            text.parse().ok().filter(|count| (1..=MOST_MULTIPROCESSORS).contains(count))
        })?
        .unwrap_or(default.multiprocessors),
        engine: engine.unwrap_or(engine::Choice::Auto).engine()?,
        memory_bytes: setting("RUMBA_MEMORY", "the device's memory in MiB", mebibytes)?.unwrap_or(default.memory_bytes),
        ..default
    })
}

/// Lets the end of the process say what was found, if the environment asks for checks.
fn watch_the_end() -> Result<(), Error> {
    let exit = setting(
        verdict::EXIT,
        "the exit code of a process in which checks have found errors, from 0 to 255",
        |text| text.parse().ok(),
    )?;
    if let Some(checks) = checks::asked() {
        verdict::begin(checks, exit.unwrap_or(verdict::ERRORS_FOUND));
    }
    Ok(())
}

/// Bytes that kernels can write to, at most, if their orders are explored.
const MOST_CONTENTS: usize = 256 << 20;

/// The most multiprocessors that can be asked for.
const MOST_MULTIPROCESSORS: u32 = 1024;

/// The most threads that can be asked for.
const MOST_WORKERS: usize = 1024;

/// The value of a variable of the environment.
pub(crate) fn setting<T>(name: &str, meaning: &str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
    let Some(text) = std::env::var_os(name) else {
        return Ok(None);
    };
    match text.to_str().and_then(read) {
        Some(value) => Ok(Some(value)),
        None => Err(Error::Device(format!("{name}={} is not {meaning}", text.display()))),
    }
}

/// The code that NVIDIA's driver gives for such a failure.
fn fault_code(kind: FaultKind) -> Code {
    match kind {
        FaultKind::IllegalAddress => Code::ILLEGAL_ADDRESS,
        FaultKind::MisalignedAddress => Code::MISALIGNED_ADDRESS,
        FaultKind::Assert => Code::ASSERT,
        FaultKind::Trap | FaultKind::Synchronisation | FaultKind::EngineDifference => Code::LAUNCH_FAILED,
        FaultKind::Timeout | FaultKind::Deadlock => Code::LAUNCH_TIMEOUT,
        FaultKind::InvalidInstruction => Code::ILLEGAL_INSTRUCTION,
        FaultKind::StackOverflow => Code::HARDWARE_STACK_ERROR,
    }
}
