//! The configuration of a device, and the checks that it makes.

use std::time::Duration;

use rumba_checks::{Check, CheckSet};

use crate::base::engine::Engine;
use crate::base::limits::{self, Multiprocessor};

/// How long a launch may take by default: a correct kernel ends long before.
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// The configuration of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The generation of the device's multiprocessors, which sets the limits of launches.
    pub multiprocessor: Multiprocessor,
    /// The number of multiprocessors that the device reports: programs size their grids by this number. It is
    /// independent of the number of threads that execute blocks.
    pub multiprocessors: u32,
    /// Bytes of device memory.
    pub memory_bytes: usize,
    /// Threads that execute blocks; 0 for one per core.
    pub workers: usize,
    /// Operations, each for a whole warp, that a launch may execute.
    pub instruction_limit: u64,
    /// How long a launch may take.
    pub time_limit: Option<Duration>,
    /// Bytes of stack per thread for kernels whose stack size cannot be computed.
    pub stack_bytes: u64,
    /// Bytes of the heap from which kernels allocate.
    pub heap_bytes: usize,
    /// Whether the processor's vector instructions are used, if it has any. Without vector instructions, kernels run
    /// slower and compute the same results.
    pub vector_instructions: bool,
    /// The checks to make. [`crate::Device::take_findings`] returns their findings, other than faults.
    pub checks: CheckSet,
    /// The seed for the order of blocks, warps and diverged lanes. With a seed, launches run on one worker, and their
    /// behavior is a function of the program, its input, the seed, and whether there is a compiler. Without a seed,
    /// blocks, warps and lanes run in the natural order.
    pub seed: Option<u64>,
    /// Whether the executions and accesses of each instruction are counted, which slows kernels down; see
    /// [`crate::Device::take_profiles`].
    pub profile: bool,
    /// The engine that runs kernels. Native code computes the same results, and is used if no exploration decides the
    /// order and nothing is profiled; with a seed, for most blocks of long launches.
    pub engine: Engine,
}

impl Config {
    /// Whether launches on a device that compares engines are left out: a seed, a profile or a check decides the engine.
    pub(crate) fn is_not_compared(&self) -> bool {
        let remembers = self.checks.contains(Check::Race) || self.checks.contains(Check::Init);
        self.seed.is_some() || self.profile || remembers
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            multiprocessor: Multiprocessor::DEFAULT,
            // Under Miri, the memory of all resident blocks is committed.
            multiprocessors: if cfg!(miri) { 2 } else { limits::MULTIPROCESSORS },
            memory_bytes: half_of_memory(),
            workers: 0,
            instruction_limit: u64::MAX,
            time_limit: Some(TIME_LIMIT),
            stack_bytes: 64 * 1024,
            heap_bytes: 8 << 20,
            vector_instructions: true,
            checks: CheckSet::default(),
            seed: None,
            profile: false,
            engine: Engine::interpreter(),
        }
    }
}

fn half_of_memory() -> usize {
    // Miri does not know the size of the machine's memory.
    if cfg!(miri) {
        return 1 << 30;
    }
    // SAFETY: a question without arguments that matter.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let bytes = (pages.max(0) as usize).saturating_mul(size.max(0) as usize);
    (bytes / 2).clamp(1 << 30, 64 << 30)
}
