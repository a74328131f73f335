//! The contract of a kernel's launches: `#[kernel(block = 256, min_blocks = 2)]`.
//!
//! The device's compilation hands the builder what becomes a PTX directive, the host's has all of it
//! in `launch::Kernel`, where launches are checked. Whether a device can run such a kernel at all is
//! not decided here.

/// The contract of every launch of a kernel. The macro `#[kernel]` documents its syntax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contract {
    /// Threads of a block along x, y and z: exactly these. `.reqntid`; PTX 2.1.
    pub block: Option<[u32; 3]>,
    /// The most threads of a block, of any shape. `.maxntid`; PTX 1.3.
    pub max_threads: Option<u32>,
    /// Blocks that one multiprocessor should have room for, which limits a thread's registers.
    /// `.minnctapersm`; PTX 2.0, sm_20.
    pub min_blocks: Option<u32>,
    /// The most registers of a thread. `.maxnreg`; PTX 1.3.
    pub max_registers: Option<u32>,
    /// Blocks of a cluster along x, y and z. `.reqnctapercluster`; PTX 7.8, sm_90.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory that a block has at least.
    pub dynamic_shared: u32,
    /// Whether all blocks of a launch run at the same time, so that the grid may wait for itself.
    pub cooperative: bool,
    /// Whether a launch may begin before the kernel ahead of it in its stream has ended (programmatic dependent launch): its threads
    /// wait for that before the kernel's body. `griddepcontrol.wait`; PTX 7.8, sm_90.
    pub dependent: bool,
}

/// For the macro: one method for each key of `#[kernel(..)]`. Numbers are wide, so that what does
/// not fit is refused and not cut off; a number that is out of range does not compile.
impl Contract {
    /// A kernel that states nothing.
    pub const ANY: Self = Self {
        block: None,
        max_threads: None,
        min_blocks: None,
        max_registers: None,
        cluster: None,
        dynamic_shared: 0,
        cooperative: false,
        dependent: false,
    };

    /// States [`block`](Self::block).
    ///
    /// # Panics
    ///
    /// If no device runs blocks of this shape (CUDA C++ Programming Guide, "Compute Capabilities").
    #[must_use]
    #[track_caller]
    pub const fn block(mut self, [x, y, z]: [u128; 3]) -> Self {
        assert!(x >= 1 && y >= 1 && z >= 1, "`block`: each dimension is at least 1");
        assert!(
            x <= 1024 && y <= 1024 && z <= 64 && x * y * z <= 1024,
            "`block`: a block has at most 1024 threads, and at most 64 of them along z; write `block = 256`, and more blocks at the launch"
        );
        self.block = Some([x as u32, y as u32, z as u32]);
        self
    }

    /// With how many registers each thread begins at most, if that is stated: NVIDIA's assembler needs it for kernels whose warp
    /// groups change their numbers (`setmaxnreg`), and gives each thread as many, or the most that a warp group asks for. Otherwise 0.
    #[doc(hidden)]
    #[must_use]
    pub const fn registers(&self) -> u32 {
        /// The registers of a multiprocessor: CUDA C++ Programming Guide, "Compute Capabilities".
        const ALL: u32 = 64 << 10;
        let threads = match (self.block, self.max_threads) {
            (Some([x, y, z]), _) => x * y * z,
            (None, Some(threads)) => threads,
            (None, None) => 0,
        };
        let most = match (self.max_registers, self.min_blocks) {
            (Some(registers), _) => registers,
            (None, Some(blocks)) if threads > 0 => ALL / (threads.next_multiple_of(32) * blocks),
            _ => 0,
        };
        (if most < 256 { most } else { 256 }) / 8 * 8
    }

    /// States [`max_threads`](Self::max_threads).
    ///
    /// # Panics
    ///
    /// If it is not 1 to 1024.
    #[must_use]
    #[track_caller]
    pub const fn max_threads(mut self, threads: u128) -> Self {
        assert!(threads >= 1 && threads <= 1024, "`max_threads`: a block has 1 to 1024 threads");
        self.max_threads = Some(threads as u32);
        self
    }

    /// States [`min_blocks`](Self::min_blocks).
    ///
    /// # Panics
    ///
    /// If it is not 1 to 32.
    #[must_use]
    #[track_caller]
    pub const fn min_blocks(mut self, blocks: u128) -> Self {
        assert!(blocks >= 1 && blocks <= 32, "`min_blocks`: a multiprocessor runs 1 to 32 blocks at once");
        self.min_blocks = Some(blocks as u32);
        self
    }

    /// States [`max_registers`](Self::max_registers).
    ///
    /// # Panics
    ///
    /// If it is not 16 to 255.
    #[must_use]
    #[track_caller]
    pub const fn max_registers(mut self, registers: u128) -> Self {
        assert!(registers >= 16 && registers <= 255, "`max_registers`: a thread has 16 to 255 registers");
        self.max_registers = Some(registers as u32);
        self
    }

    /// States [`cluster`](Self::cluster).
    ///
    /// # Panics
    ///
    /// If it is not a shape of 1 to 8 blocks, which every device with clusters runs.
    #[must_use]
    #[track_caller]
    pub const fn cluster(mut self, [x, y, z]: [u128; 3]) -> Self {
        assert!(x >= 1 && y >= 1 && z >= 1, "`cluster`: each dimension is at least 1");
        assert!(x <= 8 && y <= 8 && z <= 8 && x * y * z <= 8, "`cluster`: a cluster has at most 8 blocks");
        self.cluster = Some([x as u32, y as u32, z as u32]);
        self
    }

    /// States [`dynamic_shared`](Self::dynamic_shared).
    ///
    /// # Panics
    ///
    /// If no device gives a block that much.
    #[must_use]
    #[track_caller]
    pub const fn dynamic_shared(mut self, bytes: u128) -> Self {
        assert!(bytes <= 227 * 1024, "`dynamic_shared`: a block has at most 227 KiB (232448 bytes) of shared memory");
        self.dynamic_shared = bytes as u32;
        self
    }

    /// States [`cooperative`](Self::cooperative).
    #[must_use]
    pub const fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// States [`dependent`](Self::dependent).
    #[must_use]
    pub const fn dependent(mut self) -> Self {
        self.dependent = true;
        self
    }

    /// The clauses that become PTX directives, for the builder: block, maximum of threads, minimum of blocks, maximum
    /// of registers, cluster; 0 for an absent clause.
    #[must_use]
    pub const fn to_words(self) -> [u32; 9] {
        const fn or_zero(number: Option<u32>) -> u32 {
            match number {
                Some(number) => number,
                None => 0,
            }
        }
        const fn or_zeros(shape: Option<[u32; 3]>) -> [u32; 3] {
            match shape {
                Some(shape) => shape,
                None => [0; 3],
            }
        }
        let (block, cluster) = (or_zeros(self.block), or_zeros(self.cluster));
        [
            block[0],
            block[1],
            block[2],
            or_zero(self.max_threads),
            or_zero(self.min_blocks),
            or_zero(self.max_registers),
            cluster[0],
            cluster[1],
            cluster[2],
        ]
    }

    /// Tells the compiler what blocks and clusters the calling kernel is launched with, so that their sizes are
    /// constants. No instruction.
    ///
    /// # Safety
    ///
    /// The kernel states this contract.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub unsafe fn assume(self) {
        use crate::device::intrinsics::blocks_in_cluster;
        use crate::device::thread::{block_dim, thread_idx};
        use core::hint::assert_unchecked;

        if let Some([x, y, z]) = self.block {
            let (threads, thread) = (block_dim(), thread_idx());
            // SAFETY: the driver refuses launches with other blocks.
            unsafe {
                assert_unchecked(threads.x == x && threads.y == y && threads.z == z);
                assert_unchecked(thread.x < x && thread.y < y && thread.z < z);
            }
        }
        if let Some([x, y, z]) = self.cluster {
            // SAFETY: the driver refuses launches with other clusters.
            unsafe { assert_unchecked(blocks_in_cluster() == x * y * z) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Contract;

    #[test]
    fn words_are_in_order() {
        let all = Contract::ANY.block([16, 8, 2]).max_threads(256).min_blocks(2).max_registers(64).cluster([4, 1, 1]);
        assert_eq!(all.to_words(), [16, 8, 2, 256, 2, 64, 4, 1, 1]);
        assert_eq!(Contract::ANY.to_words(), [0; 9]);
        assert_eq!(Contract::ANY, Contract::default());
    }

    #[test]
    #[should_panic(expected = "at most 1024 threads")]
    fn numbers_are_not_cut_off() {
        let _ = Contract::ANY.block([1 << 32 | 1, 1, 1]);
    }
}
