//! Launches that run on both engines: the interpreter first, then native code, from the same memory and in one order of threads.
//!
//! One worker runs all blocks, in their order. What the first run has changed is taken back; after the second run, memory, text,
//! findings and faults are compared. Where they differ, both runs are repeated to find out who stores there. What cannot be compared
//! is counted, by [`Reason`]. How a launch runs once is the caller's business.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::lanes::LANES;
use crate::check::finding::Finding;
use crate::check::watch::{Store, Watch};
use crate::load::resources::Resources;
use crate::machine::context::thread_of;
use crate::machine::difference::{Difference, Left, Storer, first_line};
use crate::machine::fault::{Fault, FaultKind, LaunchError};
use crate::machine::program::Program;
use crate::mem::allocations::SavedAllocations;
use crate::mem::arena::Window;
use crate::mem::heap::Heap;
use crate::mem::snapshot::{Changes, Snapshot};
use crate::run::apart::{Alone, HostWaits};
use crate::run::launch::{LaunchFailure, Statistics};

/// Bytes of memory that kernels can write to, at most, in a launch that is compared.
const MOST_BYTES: usize = 2 << 30;

/// Why a launch was not compared, or a difference does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A seed, a profile or a check has it interpreted.
    Watched,
    /// There is no native code of the kernel.
    NoCode,
    /// Other launches or copies went on.
    Beside,
    /// The host went on.
    Host,
    /// There is too much memory.
    Memory,
    /// A limit ended it, or the system refused memory.
    Limit,
    /// The runs differ, and a thread read a clock.
    Clock,
    /// The runs differ, and threads took turns.
    Turns,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::Watched,
        Self::NoCode,
        Self::Beside,
        Self::Host,
        Self::Memory,
        Self::Limit,
        Self::Clock,
        Self::Turns,
    ];

    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Watched => "interpreted because of a seed, a profile or a check",
            Self::NoCode => "no compiled code of the kernel",
            Self::Beside => "other launches or copies beside it",
            Self::Host => "the host did not wait for it",
            Self::Memory => "too much memory is allocated",
            Self::Limit => "ended by a limit",
            Self::Clock => "a clock was read, and results differ",
            Self::Turns => "threads took turns within 65536 instructions, and results differ",
        }
    }
}

/// How many launches were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Comparisons {
    /// Launches whose runs were compared and are the same.
    pub same: u64,
    /// Launches whose runs differ.
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
        Comparisons {
            same: of(&self.same),
            different: of(&self.different),
            left_out: self.left_out.each_ref().map(of),
        }
    }
}

/// On which engine a launch runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// The device's, on all workers.
    Any,
    /// The interpreter, on one worker.
    Interpreter,
    /// Native code, on one worker.
    Native,
}

/// What a run leaves besides memory.
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
    /// Whether the grid is one warp: how far threads have come when one of them fails is the same then.
    pub(crate) is_one_warp: bool,
    pub(crate) resources: &'a Resources,
    pub(crate) heap: &'a Heap,
    pub(crate) counts: &'a Counts,
    pub(crate) host: &'a HostWaits,
}

/// Runs a launch once, under a watch if one is given.
pub(crate) type Run<'a> = &'a dyn Fn(On, Option<&Watch>) -> Result<Ended, LaunchError>;

/// Runs a launch on both engines. Nothing else uses the memory of the device as long as `alone` is there and nobody has joined.
pub(crate) fn compare(subject: &Subject<'_>, alone: &Alone<'_>, run: Run<'_>) -> Result<Ended, LaunchError> {
    let counts = subject.counts;
    let Some(start) = Start::of(subject) else {
        counts.leave_out(Reason::Memory);
        return run(On::Any, None);
    };
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
    match difference {
        _ if is_limited(&second.result) => counts.leave_out(Reason::Limit),
        None => {
            counts.same.fetch_add(1, Ordering::Relaxed);
        }
        Some(_) if is_any(|ended| ended.read_clock) => counts.leave_out(Reason::Clock),
        Some(_) if is_any(|ended| ended.took_turns) => counts.leave_out(Reason::Turns),
        Some(difference) => {
            counts.different.fetch_add(1, Ordering::Relaxed);
            let fault = start.explain(difference, &after, run);
            return Ok(Ended {
                result: Err(Box::new(fault).into()),
                ..second
            });
        }
    }
    Ok(second)
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

/// What a launch finds.
struct Start<'a> {
    subject: &'a Subject<'a>,
    memory: Snapshot,
    allocations: SavedAllocations,
    heap: usize,
}

/// What the first run has left in memory.
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
            // SAFETY: what is allocated is memory, and nothing else uses it.
            memory: unsafe { Snapshot::take(windows) }.ok()?,
            allocations: allocations.save(),
            heap: subject.heap.used(),
            subject,
        })
    }

    /// Takes back what a run has changed, and gives what that was.
    fn take_back(&self) -> Option<After> {
        let windows = self.subject.resources.allocations.writable();
        let known = self.memory.windows();
        let made = windows
            .iter()
            .filter(|window| !known.contains(window))
            .copied()
            .collect();
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

    /// The first difference between the runs, of which the second has just ended.
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
            Difference::Allocations {
                interpreted: after.windows.len(),
                compiled: windows.len(),
            }
        } else if first.text != second.text {
            first_line(&first.text, &second.text)
        } else if first_sides(first) != first_sides(second) {
            Difference::Findings {
                interpreted: texts(first),
                compiled: texts(second),
            }
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

    /// The fault that tells of a difference. Finds out who stores to memory that differs: both runs are repeated for that.
    fn explain(&self, found: Found, after: &After, run: Run<'_>) -> Fault {
        let address = match found {
            Found::Memory(address) => address,
            Found::Other(difference) => return self.fault(&difference, None, None),
        };
        let place = self.subject.resources.allocations.describe(address, 1);
        // An element has at most 16 bytes, and is aligned.
        let window = after.windows.iter().find(|window| window.contains(address));
        let mut region = address & !15..(address & !15) + 16;
        if let Some(window) = window {
            region = region.start.max(window.start)..region.end.min(window.end);
        }
        // SAFETY: as in `of`: all of the region is allocated.
        let byte = |at: u64| unsafe { (at as *const u8).read() };
        let compiled: Vec<u8> = region.clone().map(byte).collect();
        let [interpreter, native] = [On::Interpreter, On::Native].map(|on| {
            self.put_back();
            // SAFETY: as in `of`. What a run allocates is the device's memory before, too.
            let watch = unsafe { Watch::new(address..address + 1) };
            // A run that has succeeded can be repeated.
            let _ = run(on, Some(&watch));
            watch.last()
        });
        let access = interpreter.and_then(|store| store.access);
        let element = match access {
            Some(access) if access.bytes <= 8 => access.address..access.address + access.bytes,
            _ => address & !3..(address & !3) + 4,
        };
        let element = element.start.max(region.start)..element.end.min(region.end);
        let none = Changes::new();
        let held = |at| {
            let known = self.memory.byte(&after.changes, at);
            known.or_else(|| after.made.byte(&none, at)).unwrap_or_default()
        };
        let left = |bytes, store: Option<Store>| Left {
            bytes,
            by: store.map(|store| (store.block, self.storer(store))),
        };
        let skipped = (element.start - region.start) as usize;
        let compiled = compiled
            .into_iter()
            .skip(skipped)
            .take((element.end - element.start) as usize);
        let difference = Difference::Memory {
            address: element.start,
            place,
            interpreted: left(element.clone().map(held).collect(), interpreter),
            compiled: left(compiled.collect(), native),
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
            thread: store.map_or([0; 3], |store| {
                self.thread(store.warp, access.map_or(0, |access| access.lane))
            }),
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

/// A difference: in memory, of which nothing more is known yet, or another one.
enum Found {
    Memory(u64),
    Other(Difference),
}
