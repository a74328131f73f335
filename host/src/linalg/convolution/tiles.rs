//! The tiles of the kernels of warp groups, and which is fastest.

/// Channels of a step of the kernels of warp groups.
pub(super) const STEP: usize = 64;

/// A kernel of warp groups: its tiles, of so many places by so many outputs, and the blocks of a cluster.
pub(super) struct Tile {
    pub(super) kernel: WarpGroups,
    pub(super) size: [usize; 2],
    pub(super) threads: u32,
    pub(super) cluster: usize,
    /// The number of blocks that share the terms of the same sums. With one slice, the blocks lie below each other.
    slices: usize,
    /// Share of the multiplying units' time that long sums use, in percent: measured on an H200.
    efficiency: usize,
}

/// The kernels of `rumba_linalg::convolution::warp_group`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpGroups {
    By256,
    By160,
    By128,
    By64,
    Small,
    By160In3,
    By128In2,
}

/// A line for each kernel.
pub(super) const TILES: [Tile; 7] = {
    const fn tile(kernel: WarpGroups, size: [usize; 2], [cluster, slices]: [usize; 2], efficiency: usize) -> Tile {
        let threads = if size[0] == 64 { 256 } else { 384 };
        Tile { kernel, size, threads, cluster, slices, efficiency }
    }
    [
        tile(WarpGroups::By256, [128, 256], [2, 1], 80),
        tile(WarpGroups::By160, [128, 160], [2, 1], 85),
        tile(WarpGroups::By128, [128, 128], [2, 1], 76),
        tile(WarpGroups::By64, [128, 64], [2, 1], 56),
        tile(WarpGroups::Small, [64, 160], [2, 1], 70),
        tile(WarpGroups::By160In3, [128, 160], [3, 3], 85),
        tile(WarpGroups::By128In2, [128, 128], [2, 2], 70),
    ]
};

impl Tile {
    /// How many clusters there are to compute.
    pub(super) fn clusters(&self, places: usize, outputs: usize) -> usize {
        let below = self.cluster / self.slices;
        places.div_ceil(below * self.size[0]) * outputs.div_ceil(self.size[1])
    }

    /// How many run at a time on so many multiprocessors. Those of a cluster are of one group of 16 or 18 multiprocessors, so that
    /// larger clusters leave some out.
    pub(super) fn resident(&self, multiprocessors: usize) -> usize {
        let usable = if self.cluster > 2 { multiprocessors * 10 / 11 } else { multiprocessors };
        (usable / self.cluster).max(1)
    }

    /// How many cycles it takes about.
    pub(super) fn cost(&self, [places, outputs, steps]: [usize; 3], multiprocessors: usize) -> usize {
        // The overhead of a tile: writing it, or adding up its parts and writing the sum.
        let fixed = if self.slices > 1 { 5000 } else { 2300 };
        let rounds = self.clusters(places, outputs).div_ceil(self.resident(multiprocessors));
        // A multiprocessor multiplies 64 by 8 by 64 numbers in 16 cycles.
        let step = self.size[0] * self.size[1] / 32 * 100 / self.efficiency;
        rounds * (steps.div_ceil(self.slices) * step + fixed)
    }
}

/// The tile that takes the fewest cycles for so many places, outputs and steps of a sum, and how many those are.
pub(super) fn fastest(problem: [usize; 3], multiprocessors: usize) -> (&'static Tile, usize) {
    let costs = TILES.iter().map(|tile| (tile, tile.cost(problem, multiprocessors)));
    costs.min_by_key(|(_, cost)| *cost).expect("there are tiles")
}

#[cfg(test)]
mod tests {
    use super::{WarpGroups, fastest};

    /// The tiles that were fastest on an H200.
    #[test]
    fn tiles_are_those_that_were_fastest() {
        for (problem, kernel) in [
            ([8192, 320, 45], WarpGroups::By160),
            ([2048, 640, 90], WarpGroups::Small),
            ([512, 1280, 180], WarpGroups::By160In3),
            ([65536, 320, 45], WarpGroups::By160),
            ([2048, 320, 45], WarpGroups::By160In3),
            ([6272, 256, 36], WarpGroups::By128),
            ([100_352, 64, 9], WarpGroups::By64),
            ([32768, 512, 72], WarpGroups::By256),
        ] {
            let (best, _) = fastest(problem, 132);
            assert_eq!(best.kernel, kernel, "{problem:?}");
        }
    }
}
