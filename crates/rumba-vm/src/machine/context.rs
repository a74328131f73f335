//! The launch that warps run in: its program, its memory, its shape, and the checks that look at it.

use rumba_checks::CheckSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::engine::Compiler;
use crate::base::seed::{Chance, shuffled};
use crate::check::monitor::Monitor;
use crate::check::notes::Notes;
use crate::check::watch::Watch;
use crate::machine::cluster::GridBarrier;
use crate::machine::counters::Counters;
use crate::machine::printf::Output;
use crate::machine::program::{Native, Program, TierUp};
use crate::machine::running::LongLaunches;
use crate::machine::special::Special;
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

    /// Clusters of the grid in each dimension.
    pub(crate) fn clusters(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.grid[axis] / self.cluster[axis])
    }

    /// The coordinates of the cluster that is begun with this number.
    ///
    /// With a seed, only clusters that are resident together change places: devices begin blocks in their order, and scans
    /// that look back rely on it.
    pub(crate) fn begun(&self, number: u64) -> [u32; 3] {
        let Some(seed) = self.seed else {
            return self.cluster_coordinates(number);
        };
        let size = u64::from(self.cluster_size());
        let window = (self.residency as u64 / size).clamp(1, WINDOW);
        let first = number / window * window;
        let count = window.min((self.blocks() / size).saturating_sub(first)).max(1);
        let chance = Chance::new(seed, &[self.number, first]);
        self.cluster_coordinates(first + shuffled(chance, number - first, count))
    }

    /// The coordinates of the cluster with this number.
    pub(crate) fn cluster_coordinates(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.clusters().map(u64::from);
        [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
    }

    /// Where the block of a rank in a cluster lies.
    pub(crate) fn place(&self, cluster: [u32; 3], rank: u32) -> BlockPosition {
        let [x, y, _] = self.cluster;
        let inside = if rank == 0 { [0; 3] } else { [rank % x, rank / x % y, rank / x / y] };
        BlockPosition {
            block: [0, 1, 2].map(|axis| cluster[axis] * self.cluster[axis] + inside[axis]),
            cluster,
            inside,
            rank,
        }
    }

    /// The coordinates of a block in the grid. Blocks are counted cluster by cluster, as they are begun.
    pub(crate) fn coordinates(&self, index: u64) -> [u32; 3] {
        let size = u64::from(self.cluster_size());
        self.place(self.begun(index / size), (index % size) as u32).block
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

/// The coordinates of the thread with this number in a block of this shape.
pub(crate) fn thread_of([x, y, _]: [u32; 3], number: u32) -> [u32; 3] {
    [number % x, number / x % y, number / x / y]
}

/// Most clusters that change places in a run with a seed.
const WINDOW: u64 = 16;

/// The position of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BlockPosition {
    /// In the grid.
    pub(crate) block: [u32; 3],
    /// The cluster, in the grid of clusters.
    pub(crate) cluster: [u32; 3],
    /// In the cluster.
    pub(crate) inside: [u32; 3],
    /// The number of the block in the cluster.
    pub(crate) rank: u32,
}

impl BlockPosition {
    /// The value of a special register that differs from block to block.
    pub(crate) fn special(&self, special: Special) -> u32 {
        let axis_of = |coordinates: [u32; 3], axis: u8| coordinates[usize::from(axis)];
        match special {
            Special::CtaId(axis) => axis_of(self.block, axis),
            Special::ClusterId(axis) => axis_of(self.cluster, axis),
            Special::ClusterCtaId(axis) => axis_of(self.inside, axis),
            Special::ClusterCtaRank => self.rank,
            _ => 0,
        }
    }
}
