//! Faults, which end a launch, and the wording of their reports.
//!
//! A fault is the kernel's mistake. Mistakes in asking for a launch are [`LaunchError`], mistakes in a module
//! [`crate::load::error::LoadError`].

use crate::base::report::{Access, Location, triple};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;

use rumba_checks::FindingKind;
use thiserror::Error;

/// The kind of a kernel's mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An access to memory that is not the kernel's.
    IllegalAddress,
    /// An access at an address that is not a multiple of its size.
    MisalignedAddress,
    /// A failed assertion.
    Assert,
    /// `trap` or `brkpt`: how compiled code ends when it panics.
    Trap,
    /// The launch executed more instructions than it may.
    Timeout,
    /// All threads of a block wait, and none can wake the others.
    Deadlock,
    /// A barrier or a warp operation was used in a way that has no meaning.
    Synchronisation,
    /// An instruction with operands that it cannot have.
    InvalidInstruction,
    /// Calls are nested too deep, or need more stack than there is.
    StackOverflow,
    /// Native code does something else than the interpreter. The mistake is the machine's, not the kernel's.
    EngineDifference,
}

impl FaultKind {
    /// The kind among all that checks find, which has the words for it.
    pub fn finding(self) -> FindingKind {
        match self {
            Self::IllegalAddress => FindingKind::IllegalAddress,
            Self::MisalignedAddress => FindingKind::MisalignedAddress,
            Self::Assert => FindingKind::Assert,
            Self::Trap => FindingKind::Trap,
            Self::Timeout => FindingKind::Timeout,
            Self::Deadlock => FindingKind::Deadlock,
            Self::Synchronisation => FindingKind::Synchronisation,
            Self::InvalidInstruction => FindingKind::InvalidInstruction,
            Self::StackOverflow => FindingKind::StackOverflow,
            Self::EngineDifference => FindingKind::EngineDifference,
        }
    }

    /// The kind in words.
    pub fn name(self) -> &'static str {
        self.finding().name()
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Threads that still had something to do when a launch was ended, all at the same place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveThreads {
    /// The first of the blocks that they belong to.
    pub block: [u32; 3],
    /// The first of the threads.
    pub thread: [u32; 3],
    /// How many threads.
    pub count: u32,
    /// In how many warps.
    pub warps: u32,
    /// In how many blocks.
    pub blocks: u32,
    /// The instruction that they stand at, counted from the start of the program.
    pub pc: u32,
    /// The state of these threads.
    pub state: String,
    /// Where they stand.
    pub location: Option<Location>,
    /// The name of the PTX source.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
}

/// Places that a report lists at most.
const MAX_LISTED: usize = 16;

impl LiveThreads {
    /// One entry for all threads that do the same at the same place, most threads first.
    pub(crate) fn summary(all: Vec<Self>) -> Vec<Self> {
        let mut places: Vec<Self> = Vec::new();
        /// The number of an entry, and the blocks in it.
        type Numbered = (usize, HashSet<[u32; 3]>);
        let mut known: HashMap<(u32, String), Numbered> = HashMap::new();
        for one in all {
            match known.entry((one.pc, one.state.clone())) {
                Entry::Occupied(mut entry) => {
                    let (index, blocks) = entry.get_mut();
                    blocks.insert(one.block);
                    let place = &mut places[*index];
                    place.count += one.count;
                    place.warps += one.warps;
                    place.blocks = blocks.len() as u32;
                    let order = |live: &Self| {
                        let ([a, b, c], [x, y, z]) = (live.block, live.thread);
                        [c, b, a, z, y, x]
                    };
                    if order(&one) < order(place) {
                        place.block = one.block;
                        place.thread = one.thread;
                    }
                }
                Entry::Vacant(entry) => {
                    entry.insert((places.len(), HashSet::from([one.block])));
                    places.push(one);
                }
            }
        }
        places.sort_by_key(|place| (std::cmp::Reverse(place.count), place.pc));
        places
    }
}

impl fmt::Display for LiveThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (block, thread) = (triple(self.block), triple(self.thread));
        match (self.count, self.warps, self.blocks) {
            (1, ..) => write!(f, "block {block}, thread {thread}"),
            (count, 1, 1) => write!(f, "block {block}, {count} threads from {thread}"),
            (count, warps, 1) => write!(f, "block {block}, {count} threads of {warps} warps from {thread}"),
            (count, warps, blocks) => {
                write!(f, "{count} threads of {warps} warps in {blocks} blocks, from block {block}, thread {thread}")
            }
        }?;
        write!(f, ": {}", self.state)?;
        if let Some(location) = &self.location {
            write!(f, " at {location}")?;
        }
        Ok(())
    }
}

/// A kernel's mistake, with all its details.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of the mistake.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: String,
    /// The block.
    pub block: [u32; 3],
    /// The thread.
    pub thread: [u32; 3],
    /// Where it happened, innermost first: the following ones say where the one before was inlined.
    pub locations: Vec<Location>,
    /// The name of the PTX source.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
    /// The address, for memory accesses.
    pub address: Option<u64>,
    /// The access, for memory accesses.
    pub access: Option<Access>,
    /// Where the address lies, seen from the nearest allocation.
    pub place: Option<String>,
    /// The mistake, in a sentence.
    pub message: String,
    /// The threads that were still running, for timeouts and deadlocks.
    pub live: Vec<LiveThreads>,
    /// The seed of the run, if it had one.
    pub seed: Option<u64>,
}

impl Fault {
    /// Where it happened, if the PTX tells.
    pub fn location(&self) -> Option<&Location> {
        self.locations.first()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)?;
        write!(f, "\n  in kernel `{}`", self.kernel)?;
        let whole_block = matches!(self.kind, FaultKind::Deadlock | FaultKind::Timeout);
        // A difference between the engines that is not in memory is of no thread.
        let is_of_thread = self.kind != FaultKind::EngineDifference || self.address.is_some();
        if whole_block {
            if self.kind == FaultKind::Deadlock {
                write!(f, ", block {}", triple(self.block))?;
            }
        } else if is_of_thread {
            write!(f, ", block {}, thread {}", triple(self.block), triple(self.thread))?;
        }
        if !whole_block {
            for (index, location) in self.locations.iter().enumerate() {
                write!(f, "\n  {} {location}", if index == 0 { "at" } else { "   inlined at" })?;
                if let Some(function) = &location.function {
                    write!(f, " in `{function}`")?;
                }
            }
            if self.ptx_line != 0 {
                write!(f, "\n  {} line {}", self.ptx, self.ptx_line)?;
            }
        }
        for live in self.live.iter().take(MAX_LISTED) {
            write!(f, "\n  {live} ({} line {}, pc {})", live.ptx, live.ptx_line, live.pc)?;
        }
        if self.live.len() > MAX_LISTED {
            write!(f, "\n  and {} more", self.live.len() - MAX_LISTED)?;
        }
        if let Some(seed) = self.seed {
            write!(f, "\n  in the schedule of seed {seed}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// Why a launch was not even begun.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// A grid without blocks, or a block without threads.
    #[error("the {what} is empty: {}; every dimension must be at least 1", triple(*.size))]
    Empty {
        /// Grid or block.
        what: &'static str,
        /// The size that was asked for.
        size: [u32; 3],
    },
    /// A dimension of the grid or block is too large.
    #[error("the {what} {} is too large: the device allows at most {}", triple(*.size), triple(*.limit))]
    TooLarge {
        /// Grid or block.
        what: &'static str,
        /// The size that was asked for.
        size: [u32; 3],
        /// The largest that is possible in each dimension.
        limit: [u32; 3],
    },
    /// Too many threads in a block.
    #[error("a block of {threads} threads was asked for, and {reason} at most {limit}")]
    TooManyThreads {
        /// Threads of the block.
        threads: u64,
        /// The largest number.
        limit: u32,
        /// Who says so.
        reason: &'static str,
    },
    /// The kernel was compiled for one size of block.
    #[error("the kernel requires blocks of {}, and {} was asked for (.reqntid)", triple(*.required), triple(*.size))]
    WrongBlock {
        /// The size that it requires.
        required: [u32; 3],
        /// The size that was asked for.
        size: [u32; 3],
    },
    /// Too much shared memory.
    #[error(
        "{requested} bytes of shared memory per block were asked for ({fixed} of the kernel's own and {dynamic} \
         dynamic); the device has {limit}"
    )]
    TooMuchShared {
        /// All of it.
        requested: u64,
        /// The size that the kernel declares.
        fixed: u64,
        /// The size that the launch adds.
        dynamic: u64,
        /// The available size.
        limit: u32,
    },
    /// The system has no address space for the shadow memory of the checks.
    #[error(
        "the system refused address space for the check `race`: {reason}; lower `Config::memory_bytes` or the limit `ulimit -v`"
    )]
    Checks {
        /// The system's own words.
        reason: String,
    },
    /// Clusters that the device does not have or the kernel does not allow.
    #[error("clusters of {}: {reason}", triple(*.size))]
    Cluster {
        /// The size of the clusters, in blocks.
        size: [u32; 3],
        /// The reason.
        reason: String,
    },
    /// The parameters have the wrong size.
    #[error("the kernel takes {expected} bytes of parameters, and {given} were given")]
    Parameters {
        /// Bytes that the kernel takes.
        expected: usize,
        /// Bytes that were given.
        given: usize,
    },
    /// Not all blocks fit on the device at once.
    #[error("a cooperative launch of {blocks} blocks was asked for, and only {limit} fit on the device at once")]
    TooManyCooperative {
        /// Blocks of the grid.
        blocks: u64,
        /// Blocks that can be resident.
        limit: u64,
    },
    /// The operating system refused memory.
    #[error("the system refused memory for the launch: {0}")]
    System(String),
    /// The function belongs to another device.
    #[error("the function was loaded on another device")]
    OtherDevice,
}

/// The part of a fault that the operation knows.
#[derive(Debug, Clone)]
pub(crate) struct RawFault {
    pub(crate) kind: FaultKind,
    /// Index of the PTX instruction.
    pub(crate) source: u32,
    pub(crate) lane: usize,
    pub(crate) message: String,
    pub(crate) address: Option<u64>,
    pub(crate) access: Option<Access>,
    pub(crate) place: Option<String>,
    /// Where it is said to have happened instead of where the program stands.
    pub(crate) location: Option<Location>,
}

impl RawFault {
    /// A fault of a lane at an operation.
    pub(crate) fn new(kind: FaultKind, source: u32, lane: usize, message: impl Into<String>) -> Self {
        Self { kind, source, lane, message: message.into(), address: None, access: None, place: None, location: None }
    }

    /// A fault of a memory access.
    pub(crate) fn access(
        kind: FaultKind,
        source: u32,
        lane: usize,
        address: u64,
        access: Access,
        place: String,
    ) -> Self {
        let message = match kind {
            FaultKind::MisalignedAddress => {
                format!("{access} at {address:#x}, which is not a multiple of {}: {place}", access.bytes)
            }
            _ => format!("{access} at {address:#x}: {place}"),
        };
        Self {
            address: Some(address),
            access: Some(access),
            place: Some(place),
            ..Self::new(kind, source, lane, message)
        }
    }
}
