//! The counts of a launch, and their summary for each instruction.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::report::Location;

/// The counts of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Profile {
    /// The kernel.
    pub kernel: String,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// The counts of the executed instructions, in the order of the PTX.
    pub instructions: Vec<InstructionProfile>,
}

/// The counts of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct InstructionProfile {
    /// The name of the PTX source.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// Where it comes from, the innermost inlined function first.
    pub locations: Vec<Location>,
    /// How often a warp executed it, be it with one lane.
    pub executions: u64,
    /// How often a thread did.
    pub threads: u64,
    /// The traffic to global memory.
    pub global: Option<GlobalTraffic>,
    /// The traffic to shared memory.
    pub shared: Option<SharedTraffic>,
    /// The divergence, if the instruction is a conditional branch.
    pub branch: Option<Branches>,
}

/// Requests to global memory, of a warp each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct GlobalTraffic {
    /// How many.
    pub requests: u64,
    /// Sectors of 32 bytes that they touch.
    pub sectors: u64,
    /// Sectors that as many different bytes need at least.
    pub ideal_sectors: u64,
}

/// Requests to shared memory, of a warp each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SharedTraffic {
    /// How many.
    pub requests: u64,
    /// The number of wavefronts that serve them; wavefronts beyond the ideal number are bank conflicts.
    pub wavefronts: u64,
    /// In how many steps they would be if no bank were asked for two words in one step.
    pub ideal_wavefronts: u64,
}

/// Conditional branches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Branches {
    /// How often a warp came there.
    pub executions: u64,
    /// How often its lanes parted.
    pub divergent: u64,
}

/// The kinds of counts.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    Executions,
    Threads,
    GlobalRequests,
    Sectors,
    IdealSectors,
    SharedRequests,
    Wavefronts,
    IdealWavefronts,
    Branches,
    Divergent,
}

/// Number of [`Count`]s.
const COUNTS: usize = 10;

/// The counts of a launch: a row for each instruction.
pub(crate) struct Counters(pub(crate) Box<[[AtomicU64; COUNTS]]>);

impl Counters {
    /// Counters for a program of `instructions` instructions.
    pub(crate) fn new(instructions: usize) -> Self {
        Self((0..instructions).map(|_| Default::default()).collect())
    }

    pub(crate) fn add(&self, source: u32, count: Count, more: u64) {
        if let Some(row) = self.0.get(source as usize) {
            row[count as usize].fetch_add(more, Ordering::Relaxed);
        }
    }
}
