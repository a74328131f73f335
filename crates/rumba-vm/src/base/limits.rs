//! The limits of launches, and the capacity of a multiprocessor (CUDA C++ Programming Guide, "Compute Capabilities").
//! The machine schedules blocks in its own way; the numbers are those of a GPU.

/// Threads of the largest block.
pub const THREADS_PER_BLOCK: u32 = 1024;
/// The largest block in each dimension.
pub const BLOCK: [u32; 3] = [1024, 1024, 64];
/// The largest grid in each dimension.
pub const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Lanes of a warp.
pub const WARP: u32 = crate::base::lanes::LANES as u32;
/// Multiprocessors of a device, unless its maker says otherwise: as many as an H100 has.
pub const MULTIPROCESSORS: u32 = 132;
/// 32-bit registers of a multiprocessor.
pub const REGISTERS_PER_MULTIPROCESSOR: u32 = 65_536;
/// The most blocks that any multiprocessor keeps resident.
pub(crate) const BLOCKS_PER_MULTIPROCESSOR: u32 = 32;

/// The capacity of a multiprocessor, which depends on its generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multiprocessor {
    /// The compute capability, as `sm_90` writes it.
    pub capability: u32,
    /// Bytes of shared memory that a block can ask for.
    pub shared_per_block: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Bytes of shared memory that the system has of each block.
    pub reserved_shared: u32,
    /// Threads that it keeps resident.
    pub threads: u32,
    /// Blocks that it keeps resident.
    pub blocks: u32,
}

impl Multiprocessor {
    /// The generations, oldest first.
    pub const ALL: [Self; 10] = [
        Self::new(70, 96, 96, 0, 2048, 32),
        Self::new(72, 96, 96, 0, 2048, 32),
        Self::new(75, 64, 64, 0, 1024, 16),
        Self::new(80, 163, 164, 1, 2048, 32),
        Self::new(86, 99, 100, 1, 1536, 16),
        Self::new(87, 163, 164, 1, 1536, 16),
        Self::new(89, 99, 100, 1, 1536, 24),
        Self::DEFAULT,
        Self::new(100, 227, 228, 1, 2048, 32),
        Self::new(120, 99, 100, 1, 1536, 24),
    ];

    /// The generation of a device that asks for none.
    pub const DEFAULT: Self = Self::new(90, 227, 228, 1, 2048, 32);

    /// Shared memory in KiB.
    const fn new(capability: u32, per_block: u32, shared: u32, reserved: u32, threads: u32, blocks: u32) -> Self {
        Self {
            capability,
            shared_per_block: per_block * 1024,
            shared: shared * 1024,
            reserved_shared: reserved * 1024,
            threads,
            blocks,
        }
    }

    /// Multiprocessors of each group of so many that can hold the blocks of one cluster. A device has groups of about 16, in each
    /// of which they come in pairs: of 132, two groups have 18 and six have 16.
    pub fn groups(multiprocessors: u32) -> impl Iterator<Item = u32> {
        const GROUP: u32 = 16;
        let (pairs, groups) = (multiprocessors.div_ceil(2), (multiprocessors / GROUP).max(1));
        let of_group = move |group| 2 * (pairs / groups + u32::from(group < pairs % groups));
        (0..groups).map(of_group).scan(multiprocessors, |left, size| {
            let size = size.min(*left);
            *left -= size;
            Some(size)
        })
    }

    /// The multiprocessor of a compute capability, 90 for 9.0.
    pub fn of(capability: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.capability == capability)
    }

    /// Whether blocks can be launched in clusters.
    pub fn has_clusters(&self) -> bool {
        self.capability >= 90
    }

    /// Blocks of so many threads that it keeps resident, given the registers of a thread and the bytes of shared memory of a
    /// block.
    pub fn resident_blocks(&self, threads: u32, registers: u32, shared: u32) -> u32 {
        if threads == 0 || threads > THREADS_PER_BLOCK || shared > self.shared_per_block {
            return 0;
        }
        let warps = threads.div_ceil(WARP);
        // Registers are given out per warp in units of 256, shared memory per block in units of 128 bytes.
        let per_warp = (registers.max(1).next_multiple_of(8) * WARP).next_multiple_of(256);
        let shared = (shared + self.reserved_shared).next_multiple_of(128).max(1);
        self.blocks
            .min(self.threads / WARP / warps)
            .min(REGISTERS_PER_MULTIPROCESSOR / per_warp / warps)
            .min(self.shared / shared)
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS_PER_MULTIPROCESSOR, Multiprocessor};

    #[test]
    fn generations_are_in_order_and_hold_a_block_of_any_size() {
        assert!(Multiprocessor::ALL.is_sorted_by(|a, b| a.capability < b.capability));
        for generation in Multiprocessor::ALL {
            assert_eq!(Multiprocessor::of(generation.capability), Some(generation));
            assert!(generation.blocks <= BLOCKS_PER_MULTIPROCESSOR);
            assert_eq!(generation.resident_blocks(1024, 32, generation.shared_per_block), 1);
            assert_eq!(generation.resident_blocks(32, 32, generation.shared_per_block + 1), 0);
            assert_eq!(generation.resident_blocks(32, 32, 0), generation.blocks);
        }
        assert_eq!(Multiprocessor::of(91), None);
    }

    #[test]
    fn multiprocessors_are_in_groups() {
        let groups = |count| Multiprocessor::groups(count).collect::<Vec<_>>();
        assert_eq!(groups(132), [18, 18, 16, 16, 16, 16, 16, 16]);
        assert_eq!((groups(1), groups(2), groups(7), groups(16)), (vec![1], vec![2], vec![7], vec![16]));
        for count in 1..300 {
            assert_eq!(groups(count).iter().sum::<u32>(), count);
        }
    }

    #[test]
    fn generations_hold_what_the_guide_says() {
        let resident = |capability, threads, shared| {
            let generation = Multiprocessor::of(capability).expect("a generation");
            generation.resident_blocks(threads, 32, shared)
        };
        let all = [75, 80, 86, 90, 100, 120];
        assert_eq!(all.map(|capability| resident(capability, 512, 0)), [2, 4, 3, 4, 4, 3]);
        assert_eq!(all.map(|capability| resident(capability, 32, 40 << 10)), [1, 4, 2, 5, 5, 2]);
    }
}
