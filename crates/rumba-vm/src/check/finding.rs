//! What the checks report besides faults: mistakes that let the kernel go on.

use std::fmt;

use crate::base::report::{Access, Location, triple};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Worth knowing; the program is right nevertheless.
    Info,
    /// It works on today's devices, or where the result is not used, and nothing promises that.
    Warning,
    /// The result is wrong, or left to chance.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// What kind of mistake was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum FindingKind {
    /// Two threads access the same memory, one of them writes, and nothing orders the accesses.
    DataRace,
    /// The same, of two writes of the same value.
    SameValueRace,
    /// The same, of atomic operations whose scopes do not reach each other.
    ScopedRace,
    /// The same, of volatile accesses, which PTX defines as relaxed ones of the whole system.
    VolatileRace,
    /// Memory is accessed to or from which an asynchronous copy is under way.
    PendingCopy,
    /// `ld.global.nc` of memory that the same kernel writes.
    StaleLoad,
    /// A kernel reads memory that was never written.
    UnwrittenRead,
    /// The host copies device memory that was never written; the count is that of bytes.
    UnwrittenCopy,
    /// A thread uses a register that it has not written.
    UnwrittenRegister,
    /// Threads of one warp do not execute the same barrier.
    DivergentBarrier,
    /// Threads have exited at whose barrier others wait. They count as arrived.
    ExitBeforeBarrier,
    /// Threads arrive at a barrier again before it was completed.
    RepeatedArrival,
    /// Threads have arrived at a barrier that was never completed.
    AbandonedBarrier,
    /// Lanes name each other in masks that differ.
    MaskMismatch,
    /// A lane gives a mask that it is not in.
    MaskWithoutCaller,
    /// A mask names lanes that have exited.
    ExitedLanes,
    /// A shuffle reads a lane that does not take part in it.
    ShuffleSource,
    /// An mbarrier is initialised where one is.
    MbarrierInUse,
    /// A branch or call that promises not to diverge does.
    DivergentUniform,
    /// An integer is divided by zero.
    DivisionByZero,
    /// An integer is shifted by its width or more.
    ShiftBeyondWidth,
}

/// What is said of a kind.
struct Words {
    name: &'static str,
    severity: Severity,
    why: &'static str,
    advice: &'static str,
}

impl FindingKind {
    #[rustfmt::skip]
    fn words(self) -> Words {
use Severity::{Error, Info, Warning};
        let words = |severity, name, why, advice| Words { name, severity, why, advice };
        match self {
            Self::DataRace => words(
                Error, "data race",
                "no barrier, `bar.warp.sync` or release and acquire orders these accesses, so either may come first",
                "let the threads meet at a barrier between the accesses, or make both atomic",
            ),
            Self::SameValueRace => words(
                Info, "unordered writes of the same value",
                "nothing orders these writes, but memory holds the same after either",
                "let one thread write, if the writes need not be there twice",
            ),
            Self::ScopedRace => words(
                Error, "race of atomic operations by scope",
                "an atomic operation of scope `.cta` is atomic for the threads of its own block only",
                "widen the scope of the operation to `.gpu`",
            ),
            Self::VolatileRace => words(
                Info, "unordered volatile accesses",
                "PTX takes volatile accesses for relaxed atomic ones, which order nothing; no barrier, `bar.warp.sync` or \
                 release and acquire orders these",
                "if this is a flag, use atomic accesses, with release and acquire; else let the threads meet at a barrier \
                 between the accesses",
            ),
            Self::PendingCopy => words(
                Error, "access to memory of a copy under way",
                "an asynchronous copy may arrive at any time until its thread has waited for it",
                "wait for the copy (`cp.async.wait_group`, or the mbarrier that tracks it), then let the threads meet at \
                 a barrier",
            ),
            Self::StaleLoad => words(
                Error, "read-only load of memory that the kernel writes",
                "`ld.global.nc` reads through a cache that does not see what is written while the kernel runs",
                "read with a plain load, or do not write to this memory in this kernel",
            ),
            Self::UnwrittenRead => words(
                Error, "read of uninitialised memory",
                "neither the host nor a kernel has written there since the memory was allocated or the block began, so it \
                 may hold anything",
                "write to the memory before it is read, or do not read beyond what was written",
            ),
            Self::UnwrittenCopy => words(
                Error, "copy of uninitialised memory to the host",
                "neither the host nor a kernel has written there since the memory was allocated",
                "let the kernel write all of it, or copy only what it writes",
            ),
            Self::UnwrittenRegister => words(
                Error, "use of an uninitialised register",
                "no instruction on the thread's way here has written the register, so it may hold anything",
                "give the variable a value on every path that leads here",
            ),
            Self::DivergentBarrier => words(
                Error, "divergent barrier",
                "all threads of a warp have to execute the same barrier instruction together",
                "move the barrier out of the branch or loop that only some of the threads take",
            ),
            Self::ExitBeforeBarrier => words(
                Info, "barrier without threads that have exited",
                "a barrier waits for the threads that have not exited, so it is complete without these",
                "if these threads have work before the barrier, let them return behind it; else nothing is to be done",
            ),
            Self::RepeatedArrival => words(
                Error, "second arrival at a barrier",
                "a thread that has arrived may not arrive again before the barrier was completed",
                "let the producer wait on another barrier until the consumers have passed this one",
            ),
            Self::AbandonedBarrier => words(
                Warning, "barrier that was never completed",
                "the block ended while threads that arrived were counted, and no thread waited for them",
                "compare the number of threads that the barrier is for with those that come",
            ),
            Self::MaskMismatch => words(
                Error, "masks that do not agree",
                "lanes that a mask names have to execute the operation with the same mask",
                "compute the mask once where all lanes are together, and pass the same one in all of them",
            ),
            Self::MaskWithoutCaller => words(
                Error, "mask without its caller",
                "the mask of a warp operation names all lanes that execute it, and what it does for others is not defined",
                "add the lane to the mask, or keep it from the operation by a branch",
            ),
            Self::ExitedLanes => words(
                Info, "mask with lanes that have exited",
                "lanes that have exited are not waited for: the operation goes on without those that the mask names",
                "if they should take part, let lanes without work stay, with a neutral value; else leave them out of the mask",
            ),
            Self::ShuffleSource => words(
                Warning, "shuffle from a lane that takes no part",
                "the value is undefined unless the lane that is read executes the same shuffle",
                "let all lanes of the warp shuffle, or choose the width so that only lanes of the mask are read",
            ),
            Self::MbarrierInUse => words(
                Error, "initialisation of an mbarrier in use",
                "the memory holds a valid mbarrier, whose phase and arrivals would be lost",
                "let one thread initialise it once, or invalidate it first",
            ),
            Self::DivergentUniform => words(
                Error, "divergence where none was promised",
                "`.uni` promises that all threads that execute the instruction together go the same way",
                "remove `.uni`",
            ),
            Self::DivisionByZero => words(
                Error, "integer division by zero",
                "the quotient and the remainder are undefined",
                "test the divisor, or use `checked_div`",
            ),
            Self::ShiftBeyondWidth => words(
                Warning, "shift beyond the width",
                "PTX shifts everything out, the language it was written in leaves the result open or wraps the amount",
                "mask the amount (`wrapping_shl`), or test it (`checked_shl`)",
            ),
        }
    }

    /// The kind in words.
    pub fn name(self) -> &'static str {
        self.words().name
    }

    /// How bad it is, unless something makes it less so; see [`Finding::severity`].
    pub fn severity(self) -> Severity {
        self.words().severity
    }

    /// Why it is a mistake.
    pub fn why(self) -> &'static str {
        self.words().why
    }

    /// What to try.
    pub fn advice(self) -> &'static str {
        self.words().advice
    }

    /// Whether the sides of a finding follow each other in time.
    fn is_of_memory(self) -> bool {
        matches!(
            self,
            Self::DataRace
                | Self::SameValueRace
                | Self::ScopedRace
                | Self::VolatileRace
                | Self::PendingCopy
                | Self::StaleLoad
        )
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a thread did that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Side {
    /// The block.
    pub block: [u32; 3],
    /// The thread in the block.
    pub thread: [u32; 3],
    /// How many threads of its warp did the same at the same time.
    pub threads: u32,
    /// What it did, in words.
    pub what: String,
    /// The access, if it is one to memory.
    pub access: Option<Access>,
    /// Where, the innermost inlined function first.
    pub locations: Vec<Location>,
    /// The name of the PTX source.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (block, thread) = (triple(self.block), triple(self.thread));
        write!(f, "{} by thread {thread} of block {block}", self.what)?;
        if self.threads > 1 {
            write!(f, " and {} more of its warp", self.threads - 1)?;
        }
        match self.locations.first() {
            Some(location) => write!(f, "\n    at {location}")?,
            None => write!(
                f,
                "\n    at {}:{} (PTX without line information)",
                self.ptx, self.ptx_line
            )?,
        }
        for location in self.locations.iter().skip(1) {
            write!(f, "\n    inlined at {location}")?;
        }
        Ok(())
    }
}

/// A mistake of a kernel that did not end it. Mistakes at the same instructions are one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// How bad it is: information alone should not fail a run.
    pub severity: Severity,
    /// The kernel, unless it was the host.
    pub kernel: Option<String>,
    /// What was done, the first time: that at which it was noticed, then what it collides with, if there is that.
    pub sides: Vec<Side>,
    /// The first byte that it is about, if it is about memory.
    pub address: Option<u64>,
    /// What lies there, or what is wrong in particular.
    pub place: String,
    /// How often it happened.
    pub count: u64,
    /// The seed of the run, if it had one.
    pub seed: Option<u64>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.kind)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " in kernel `{kernel}`")?;
        }
        writeln!(f, ": {}", self.place)?;
        for (index, side) in self.sides.iter().enumerate() {
            let before = match index {
                0 => "",
                _ if self.kind.is_of_memory() => "and earlier ",
                _ => "and ",
            };
            writeln!(f, "  {before}{side}")?;
        }
        write!(f, "  {}", self.kind.why())?;
        let of = if self.kind == FindingKind::UnwrittenCopy {
            "bytes"
        } else {
            "times"
        };
        if self.count > 1 {
            write!(f, "; {} {of}", self.count)?;
        }
        write!(f, "\n  help: {}", self.kind.advice())?;
        if let Some(seed) = self.seed {
            write!(f, "\n  in the schedule of seed {seed}")?;
        }
        Ok(())
    }
}
