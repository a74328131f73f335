//! How a device is made, and which checks it makes.

use std::time::Duration;

use rumba_checks::{Check, CheckSet};

use crate::base::engine::Engine;
use crate::base::limits::{self, Multiprocessor};

/// How long a launch may take by default: a kernel that works is done long before.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// How a device is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Of which generation its multiprocessors are, for the limits of launches.
    pub multiprocessor: Multiprocessor,
    /// How many of them the device has for those who ask: programs size their grids by it. It has nothing to do with the number
    /// of threads that execute blocks.
    pub multiprocessors: u32,
    /// Bytes of device memory.
    pub memory_bytes: usize,
    /// Threads that execute blocks; 0 for one per core.
    pub workers: usize,
    /// Operations, each for a whole warp, that a launch may execute.
    pub instruction_limit: u64,
    /// How long a launch may take.
    pub time_limit: Option<Duration>,
    /// Bytes of stack per thread where a kernel's need cannot be computed.
    pub stack_bytes: u64,
    /// Bytes that kernels may allocate.
    pub heap_bytes: usize,
    /// Whether the processor's vector instructions are used where it has them. Without them, kernels run slower and
    /// compute the same.
    pub vector_instructions: bool,
    /// Whether warps whose lanes are in lockstep run programs that make use of it, where the processor has vector
    /// instructions and they are used. Without it, kernels run slower and compute the same.
    pub lockstep: bool,
    /// Which checks are made. What they find, other than faults, is taken with [`crate::Device::take_findings`].
    pub checks: CheckSet,
    /// What the order of blocks, warps and diverged lanes is taken from. Launches then run on one worker, and what they do
    /// is a function of the program, its input and the seed. Without one, that order is the natural one.
    pub seed: Option<u64>,
    /// Whether it is counted what each instruction does; see [`crate::Device::take_profiles`]. Kernels then run slower.
    pub profile: bool,
    /// What runs kernels. Native code computes the same, and is used where neither a seed nor an exploration decides about
    /// orders, nothing is profiled, and no check remembers what threads did.
    pub engine: Engine,
}

impl Config {
    /// Whether every launch is interpreted, whatever the engine.
    pub(crate) fn is_interpreted(&self) -> bool {
        let remembers = self.checks.contains(Check::Race) || self.checks.contains(Check::Init);
        self.seed.is_some() || self.profile || remembers
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            multiprocessor: Multiprocessor::NEWEST,
            // Under Miri, the memory for blocks that are there at once is committed.
            multiprocessors: if cfg!(miri) { 2 } else { limits::MULTIPROCESSORS },
            memory_bytes: half_of_memory(),
            workers: 0,
            instruction_limit: u64::MAX,
            time_limit: Some(TIME_LIMIT),
            stack_bytes: 64 * 1024,
            heap_bytes: 8 << 20,
            vector_instructions: true,
            lockstep: true,
            checks: CheckSet::default(),
            seed: None,
            profile: false,
            engine: Engine::interpreter(),
        }
    }
}

fn half_of_memory() -> usize {
    // Miri does not know how much there is.
    if cfg!(miri) {
        return 1 << 30;
    }
    // SAFETY: a question without arguments that matter.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let bytes = (pages.max(0) as usize).saturating_mul(size.max(0) as usize);
    (bytes / 2).clamp(1 << 30, 64 << 30)
}
