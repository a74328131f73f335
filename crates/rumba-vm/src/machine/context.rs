//! The launch that warps run in: its program, its memory, its shape, and the checks that look at it.

use rumba_checks::CheckSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::engine::Compiler;
use crate::check::monitor::Monitor;
use crate::check::notes::Notes;
use crate::check::turns::Turns;
use crate::check::watch::Watch;
use crate::machine::cluster::GridBarrier;
use crate::machine::counters::Counters;
use crate::machine::geometry::{BlockPosition, Geometry};
use crate::machine::printf::Output;
use crate::machine::program::{Native, Program, TierUp};
use crate::machine::running::LongLaunches;
use crate::mem::allocations::Allocations;
use crate::mem::arena::{Arena, Window};
use crate::mem::heap::Heap;

/// Events in a launch that may differ when it runs again on another engine.
#[derive(Debug, Default)]
pub(crate) struct Variance {
    /// A thread read a clock.
    pub(crate) clock: AtomicBool,
    /// A thread that could have continued had to let others run: engines count operations at different points.
    pub(crate) turns: AtomicBool,
}

/// The place of a launch among those that are checked for races together, or of a launch alone.
#[derive(Clone, Copy, Default)]
pub(crate) struct PlaceInSession<'a> {
    /// The numbers by which the detector knows the first block and the first instruction.
    pub(crate) first_block: u32,
    pub(crate) first_source: u32,
    /// The turns in which a launch that is not alone executes operations.
    pub(crate) turns: Option<&'a Turns>,
}

/// The state that all workers of a launch share.
pub(crate) struct Context<'a> {
    pub(crate) program: &'a Program,
    /// The native code of the program, if there is some.
    pub(crate) native: Option<&'a Native>,
    /// The pending compilation, while the program has no native code yet.
    pub(crate) tier_up: Option<TierUp<'a>>,
    /// With a seed, the program and the compiler of which later blocks may want native code.
    pub(crate) compilable: Option<(&'a Arc<Program>, &'a dyn Compiler)>,
    pub(crate) arena: &'a Arena,
    pub(crate) allocations: &'a Allocations,
    pub(crate) output: &'a Output,
    pub(crate) heap: &'a Heap,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) parameters: &'a [u8],
    /// The address of the parameters, for kernels that take a parameter's address.
    pub(crate) parameter_start: u64,
    /// The launch's parts of the windows for shared memory and stacks.
    pub(crate) shared: Window,
    pub(crate) local: Window,
    /// Bytes of each thread's stack, counted from offset 0.
    pub(crate) stack_stride: u64,
    /// Number of the launch, and of the run: a compared launch runs twice.
    pub(crate) number: u64,
    pub(crate) run: u64,
    /// The device's workers, and how many of them run this launch.
    pub(crate) workers: usize,
    pub(crate) active_workers: usize,
    /// The next cluster to begin.
    pub(crate) next: AtomicU64,
    /// Blocks that a worker may keep resident.
    pub(crate) residency: usize,
    pub(crate) cooperative: bool,
    /// Blocks of a cluster in each dimension.
    pub(crate) cluster: [u32; 3],
    pub(crate) explicit_cluster: bool,
    /// The address at which compiled code keeps the state of the grid's barrier; 0 without a grid barrier.
    pub(crate) grid_workspace: u64,
    pub(crate) grid_barrier: GridBarrier,
    pub(crate) checks: CheckSet,
    /// The list of mistakes that are not about memory, if a check looks for such mistakes.
    pub(crate) notes: Option<&'a Notes>,
    /// The counts of its instructions, if the device profiles.
    pub(crate) profile: Option<&'a Counters>,
    /// The seed for the order of blocks, warps and lanes; without a seed, their numbers give the order.
    pub(crate) seed: Option<u64>,
    /// Whether this launch explores the orders of synchronizing operations.
    pub(crate) explores: bool,
    /// The place of the launch among those that are checked for races together.
    pub(crate) place_in_session: PlaceInSession<'a>,
    /// The checks that keep a history of accesses, if they are on.
    pub(crate) monitor: Option<&'a Monitor>,
    /// Counts the blocks that have ended, for threads that wait for a compared launch.
    pub(crate) beat: Option<&'a AtomicU64>,
    /// The range of memory whose stores are recorded.
    pub(crate) watch: Option<&'a Watch>,
    /// Events of the launch that may differ in another run.
    pub(crate) variance: Variance,
    pub(crate) instruction_limit: u64,
    pub(crate) time_limit: Option<Duration>,
    /// The callback for long launches.
    pub(crate) long_launches: Option<&'a LongLaunches>,
    /// How often the device had printed when the launch was begun.
    pub(crate) printed: u64,
    pub(crate) started: Instant,
}

impl Context<'_> {
    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Takes `count` clusters: the number of the first, if there is one.
    pub(crate) fn take(&self, count: u64) -> u64 {
        self.next.fetch_add(count, Ordering::Relaxed)
    }

    /// The shape of the grid.
    pub(crate) fn geometry(&self) -> Geometry {
        let Self { grid, block, cluster, residency, seed, number, .. } = *self;
        Geometry { grid, block, cluster, residency, seed, number }
    }

    /// Clusters of the grid in each dimension.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        self.geometry().clusters()
    }

    /// The coordinates of the cluster that is begun with this number.
    pub(crate) fn begun(&self, number: u64) -> [u32; 3] {
        self.geometry().begun(number)
    }

    /// The coordinates of the cluster with this number.
    pub(crate) fn cluster_coordinates(&self, number: u64) -> [u32; 3] {
        self.geometry().cluster_coordinates(number)
    }

    /// Where the block of a rank in a cluster lies.
    pub(crate) fn place(&self, cluster: [u32; 3], rank: u32) -> BlockPosition {
        self.geometry().place(cluster, rank)
    }

    /// Takes a cluster that no worker has taken, which then is never begun: the coordinates of its first block.
    pub(crate) fn cancel_cluster(&self) -> Option<[u32; 3]> {
        let (number, size) = (self.take(1), u64::from(self.cluster_size()));
        if number >= self.blocks() / size {
            return None;
        }
        self.grid_barrier.finish(size);
        Some(self.place(self.begun(number), 0).block)
    }

    /// Offset of dynamic shared memory.
    pub(crate) fn dynamic_start(&self) -> u64 {
        self.program.shared_end.next_multiple_of(self.program.dynamic_align)
    }

    /// End of shared memory, counted from offset 0.
    pub(crate) fn shared_end(&self) -> u64 {
        if self.dynamic_shared == 0 {
            self.program.shared_end
        } else {
            self.dynamic_start() + u64::from(self.dynamic_shared)
        }
    }
}
