//! The shape of a grid: where blocks and threads lie, given their numbers.

use crate::base::lanes::LANES;
use crate::base::seed::{Chance, shuffled};
use crate::machine::special::Special;

/// The shape of a grid, and the order in which its blocks are begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Geometry {
    /// Blocks in each dimension, threads of a block, and blocks of a cluster.
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: [u32; 3],
    /// Blocks that a worker may keep resident.
    pub(crate) residency: usize,
    /// The seed of the order, and the number of the launch.
    pub(crate) seed: Option<u64>,
    pub(crate) number: u64,
}

impl Geometry {
    /// All blocks.
    pub(crate) fn blocks(&self) -> u64 {
        self.grid.iter().map(|size| u64::from(*size)).product()
    }

    fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
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

    /// The coordinates of a thread in its block.
    pub(crate) fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        thread_of(self.block, warp * LANES as u32 + lane)
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
