//! Launches that run on both engines: the interpreter first, then native code, from the same memory and in one order of threads.
//!
//! One worker runs all blocks in their order. The changes of the first run are taken back; after the second run, memory, text,
//! findings and faults are compared. On a difference the interpreter runs again: if its two runs differ, the engines are not to
//! blame. Both repeated runs are watched, to tell who stores at the address that differs. Launches that cannot be compared are
//! counted by [`Reason`]. How a launch runs once is the caller's business.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::lanes::LANES;
use crate::check::finding::Finding;
use crate::check::watch::{Store, Watch};
use crate::load::resources::Resources;
use crate::machine::difference::{Difference, Left, Storer, first_line};
use crate::machine::fault::{Fault, FaultKind, LaunchError};
use crate::machine::geometry::thread_of;
use crate::machine::program::Program;
use crate::mem::allocations::SavedAllocations;
use crate::mem::arena::Window;
use crate::mem::heap::Heap;
use crate::mem::snapshot::{Changes, Snapshot};
use crate::run::apart::{Alone, HostWaits};
use crate::run::launch::{LaunchFailure, Statistics};

/// The most bytes of writable memory for which launches are compared.
const MOST_BYTES: usize = 2 << 30;

/// Why a launch was not compared, or a difference does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A seed, a profile or a check asks for the interpreter.
    Watched,
    /// The kernel has no native code, or it is still being compiled.
    NoCode,
    /// Other launches or copies ran at the same time.
    Beside,
    /// The host did not wait for the launch.
    Host,
    /// More memory is allocated than is copied for each launch.
    Memory,
    /// A limit ended the launch, or the system refused memory.
    Limit,
    /// The runs differ, and a thread read a clock.
    Clock,
    /// The runs differ, and a warp's turn or its lanes' turn ended within a run of instructions: engines count instructions at
    /// different places.
    Turns,
    /// Two runs of the interpreter differ as well.
    Unsteady,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Watched,
        Self::NoCode,
        Self::Beside,
        Self::Host,
        Self::Memory,
        Self::Limit,
        Self::Clock,
        Self::Turns,
        Self::Unsteady,
    ];

    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Watched => "interpreted because of a seed, a profile or a check",
            Self::NoCode => "the kernel has no compiled code, or not yet",
            Self::Beside => "other launches or copies ran at the same time",
            Self::Host => "no block ended for 2 s, and the host went on",
            Self::Memory => "more than 2 GiB are allocated",
            Self::Limit => "a limit ended the launch",
            Self::Clock => "results differ, and a thread read a clock",
            Self::Turns => "results differ, and threads took turns after many instructions",
            Self::Unsteady => "two interpreted runs differ",
        }
    }
}

/// How many launches were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Comparisons {
    /// Launches whose two runs do the same.
    pub same: u64,
    /// Launches whose two runs differ.
    pub different: u64,
    /// Launches that were left out, in the order of [`Reason::ALL`].
    pub left_out: [u64; Reason::ALL.len()],
}

/// The counters of a device.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    same: AtomicU64,
    different: AtomicU64,
    left_out: [AtomicU64; Reason::ALL.len()],
}

impl Counts {
    pub(crate) fn leave_out(&self, reason: Reason) {
        self.left_out[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Comparisons {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Comparisons { same: of(&self.same), different: of(&self.different), left_out: self.left_out.each_ref().map(of) }
    }
}

/// The engine of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// The engine of the device, on all workers.
    Any,
    /// The interpreter, on one worker.
    Interpreter,
    /// Native code, on one worker.
    Native,
}

/// The outcome of a run, besides memory.
pub(crate) struct Ended {
    pub(crate) result: Result<Statistics, LaunchFailure>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) text: Vec<u8>,
    /// Whether a thread read a clock, and whether threads took turns.
    pub(crate) read_clock: bool,
    pub(crate) took_turns: bool,
}

/// A launch that is compared.
pub(crate) struct Subject<'a> {
    pub(crate) program: &'a Program,
    /// Threads of a block, in each dimension.
    pub(crate) block: [u32; 3],
    /// Whether the grid is one warp: then memory is determined after a fault, too.
    pub(crate) is_one_warp: bool,
    pub(crate) resources: &'a Resources,
    pub(crate) heap: &'a Heap,
    pub(crate) counts: &'a Counts,
    pub(crate) host: &'a HostWaits,
}

/// Runs a launch once, under a watch if one is given.
pub(crate) type Run<'a> = &'a dyn Fn(On, Option<&Watch>) -> Result<Ended, LaunchError>;

/// Runs a launch on both engines. Nothing else uses the memory of the device as long as `alone` exists and no other work has joined.
pub(crate) fn compare(subject: &Subject<'_>, alone: &Alone<'_>, run: Run<'_>) -> Result<Ended, LaunchError> {
    let counts = subject.counts;
    let Some(start) = Start::of(subject) else {
        counts.leave_out(Reason::Memory);
        subject.host.release();
        return run(On::Any, None);
    };
    alone.beat();
    subject.host.release();
    let first = run(On::Interpreter, None)?;
    let reason = match &first.result {
        _ if !alone.hold() => Some(Reason::Beside),
        _ if !subject.host.hold() => Some(Reason::Host),
        result if is_limited(result) => Some(Reason::Limit),
        _ => None,
    };
    let after = if reason.is_none() { start.take_back() } else { None };
    let Some(after) = after else {
        counts.leave_out(reason.unwrap_or(Reason::Memory));
        return Ok(first);
    };
    let second = run(On::Native, None)?;
    let difference = start.difference((&first, &after), &second);
    let is_any = |met: fn(&Ended) -> bool| met(&first) || met(&second);
    let found = match difference {
        _ if is_limited(&second.result) => {
            counts.leave_out(Reason::Limit);
            return Ok(second);
        }
        None => {
            counts.same.fetch_add(1, Ordering::Relaxed);
            return Ok(second);
        }
        Some(_) if is_any(|ended| ended.read_clock) => {
            counts.leave_out(Reason::Clock);
            return Ok(second);
        }
        Some(_) if is_any(|ended| ended.took_turns) => {
            counts.leave_out(Reason::Turns);
            return Ok(second);
        }
        Some(found) => found,
    };
    let compiled = start.around(&found, &after);
    let repeat = |on| {
        start.put_back();
        let watch = found.watch();
        run(on, watch.as_ref()).map(|ended| (ended, watch.and_then(|watch| watch.last())))
    };
    let (again, interpreter) = repeat(On::Interpreter)?;
    if start.difference((&first, &after), &again).is_some() {
        counts.leave_out(Reason::Unsteady);
        return Ok(again);
    }
    let (_, native) = repeat(On::Native)?;
    counts.different.fetch_add(1, Ordering::Relaxed);
    let fault = start.explain(found, &after, &compiled, [interpreter, native]);
    Ok(Ended { result: Err(Box::new(fault).into()), ..second })
}

/// Whether a launch did not end by itself.
fn is_limited(result: &Result<Statistics, LaunchFailure>) -> bool {
    match result {
        Ok(_) => false,
        Err(LaunchFailure::Refused(_)) => true,
        Err(LaunchFailure::Fault(fault)) => fault.kind == FaultKind::Timeout,
    }
}

/// Whether faults of the two runs are the same. Where threads took turns, another thread may fail first.
fn is_same(interpreted: &Fault, compiled: &Fault, took_turns: bool) -> bool {
    let place = |fault: &Fault| (fault.block, fault.thread, fault.ptx_line);
    interpreted.kind == compiled.kind
        && (took_turns || interpreted.message == compiled.message && place(interpreted) == place(compiled))
}

/// The state before a launch.
struct Start<'a> {
    subject: &'a Subject<'a>,
    memory: Snapshot,
    allocations: SavedAllocations,
    heap: usize,
}

/// The state of memory after the first run.
struct After {
    changes: Changes,
    /// What kernels can write to then, and the contents of what kernels have allocated.
    windows: Vec<Window>,
    made: Snapshot,
}

impl<'a> Start<'a> {
    /// The state of the device now; nothing if it is too much.
    fn of(subject: &'a Subject<'a>) -> Option<Self> {
        let allocations = &subject.resources.allocations;
        let windows = allocations.writable();
        if windows.iter().map(|window| window.bytes()).sum::<usize>() > MOST_BYTES {
            return None;
        }
        Some(Self {
            // SAFETY: the windows are allocated memory, and nothing else uses it.
            memory: unsafe { Snapshot::take(windows) }.ok()?,
            allocations: allocations.save(),
            heap: subject.heap.used(),
            subject,
        })
    }

    /// Undoes the changes of a run, and returns them.
    fn take_back(&self) -> Option<After> {
        let windows = self.subject.resources.allocations.writable();
        let known = self.memory.windows();
        let made = windows.iter().filter(|window| !known.contains(window)).copied().collect();
        Some(After {
            // SAFETY: as in `of`.
            made: unsafe { Snapshot::take(made) }.ok()?,
            changes: self.put_back(),
            windows,
        })
    }

    fn put_back(&self) -> Changes {
        self.subject.heap.put_back(self.heap);
        // SAFETY: as in `of`. What a kernel has freed stays memory of the device.
        let changes = unsafe { self.memory.restore() };
        self.subject.resources.allocations.put_back(&self.allocations);
        changes
    }

    /// The first difference between the two runs, right after the second has ended.
    fn difference(&self, (first, after): (&Ended, &After), second: &Ended) -> Option<Found> {
        let fault = |ended: &Ended| match &ended.result {
            Err(LaunchFailure::Fault(fault)) => Some(fault.clone()),
            Ok(_) | Err(LaunchFailure::Refused(_)) => None,
        };
        let took_turns = first.took_turns || second.took_turns;
        match (fault(first), fault(second)) {
            (None, None) => {}
            (Some(interpreted), Some(compiled)) if is_same(&interpreted, &compiled, took_turns) => {
                if !self.subject.is_one_warp {
                    return None;
                }
            }
            (interpreted, compiled) => return Some(Found::Other(Difference::End { interpreted, compiled })),
        }
        if let Some(address) = self.differing_address(after) {
            return Some(Found::Memory(address));
        }
        let windows = self.subject.resources.allocations.writable();
        let texts = |ended: &Ended| ended.findings.iter().map(ToString::to_string).collect();
        // Native code cannot tell where other lanes of a warp stand.
        let first_sides = |ended: &Ended| -> Vec<Finding> {
            let findings = ended.findings.iter().cloned();
            let one_sided = findings.map(|mut finding| {
                finding.sides.truncate(1);
                finding
            });
            one_sided.collect()
        };
        let other = if windows != after.windows {
            Difference::Allocations { interpreted: after.windows.len(), compiled: windows.len() }
        } else if first.text != second.text {
            first_line(&first.text, &second.text)
        } else if first_sides(first) != first_sides(second) {
            Difference::Findings { interpreted: texts(first), compiled: texts(second) }
        } else {
            return None;
        };
        Some(Found::Other(other))
    }

    /// The first address at which the second run, which has just ended, has left another byte than the first one.
    fn differing_address(&self, after: &After) -> Option<u64> {
        // SAFETY: as in `of`. What the first run has allocated stays memory of the device.
        unsafe {
            let known = self.memory.first_difference(&after.changes);
            known.or_else(|| after.made.first_difference(&Changes::new()))
        }
    }

    /// The bytes in memory around an address that differs. An element has at most 16 bytes, and is aligned.
    fn around(&self, found: &Found, after: &After) -> (u64, Vec<u8>) {
        let Found::Memory(address) = found else {
            return (0, Vec::new());
        };
        let window = after.windows.iter().find(|window| window.contains(*address));
        let mut region = address & !15..(address & !15) + 16;
        if let Some(window) = window {
            region = region.start.max(window.start)..region.end.min(window.end);
        }
        // SAFETY: as in `of`: all of the region is allocated.
        let byte = |at: u64| unsafe { (at as *const u8).read() };
        (region.start, region.map(byte).collect())
    }

    /// The fault that tells of a difference, given what native code has left around the address, and the last stores there of both
    /// engines.
    fn explain(
        &self,
        found: Found,
        after: &After,
        (start, compiled): &(u64, Vec<u8>),
        [interpreter, native]: [Option<Store>; 2],
    ) -> Fault {
        let address = match found {
            Found::Memory(address) => address,
            Found::Other(difference) => return self.fault(&difference, None, None),
        };
        let element = match interpreter.and_then(|store| store.access) {
            Some(access) if access.bytes <= 8 => access.address..access.address + access.bytes,
            _ => address & !3..(address & !3) + 4,
        };
        let end = start + compiled.len() as u64;
        let element = element.start.max(*start)..element.end.min(end);
        let none = Changes::new();
        let held = |at| {
            let known = self.memory.byte(&after.changes, at);
            known.or_else(|| after.made.byte(&none, at)).unwrap_or_default()
        };
        let left =
            |bytes, store: Option<Store>| Left { bytes, by: store.map(|store| (store.block, self.storer(store))) };
        let compiled = &compiled[(element.start - start) as usize..(element.end - start) as usize];
        let difference = Difference::Memory {
            address: element.start,
            place: self.subject.resources.allocations.describe(element.start, 1),
            interpreted: left(element.clone().map(held).collect(), interpreter),
            compiled: left(compiled.to_vec(), native),
        };
        self.fault(&difference, interpreter.or(native), Some(element.start))
    }

    fn storer(&self, store: Store) -> Storer {
        match store.access {
            Some(access) => Storer::Thread(self.thread(store.warp, access.lane)),
            None => Storer::Warp(store.warp),
        }
    }

    fn thread(&self, warp: u32, lane: usize) -> [u32; 3] {
        thread_of(self.subject.block, warp * LANES as u32 + lane as u32)
    }

    fn fault(&self, difference: &Difference, store: Option<Store>, address: Option<u64>) -> Fault {
        let program = self.subject.program;
        let access = store.and_then(|store| store.access);
        let (ptx, ptx_line) = access.map_or_else(Default::default, |access| program.debug.ptx(access.source));
        Fault {
            kind: FaultKind::EngineDifference,
            kernel: program.name.clone(),
            block: store.map_or([0; 3], |store| store.block),
            thread: store.map_or([0; 3], |store| self.thread(store.warp, access.map_or(0, |access| access.lane))),
            locations: access.map_or_else(Vec::new, |access| program.debug.locations(access.source)),
            ptx,
            ptx_line,
            address,
            access: None,
            place: None,
            message: difference.to_string(),
            live: Vec::new(),
            seed: None,
        }
    }
}

/// A difference: the first address in memory, or another one.
enum Found {
    Memory(u64),
    Other(Difference),
}

impl Found {
    /// A watch on the address that differs.
    fn watch(&self) -> Option<Watch> {
        match self {
            // SAFETY: the address is memory of the device, also where the launch has allocated it.
            Self::Memory(address) => Some(unsafe { Watch::new(*address..*address + 1) }),
            Self::Other(_) => None,
        }
    }
}
