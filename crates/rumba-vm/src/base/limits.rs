//! What a launch may ask for, and what a multiprocessor holds: the limits of compute capability 9.0 (CUDA C++ Programming
//! Guide, "Compute Capabilities"). The machine runs blocks as it likes; the numbers are those that a GPU would give.

/// Threads of the largest block.
pub const THREADS_PER_BLOCK: u32 = 1024;
/// The largest block in each dimension.
pub const BLOCK: [u32; 3] = [1024, 1024, 64];
/// The largest grid in each dimension.
pub const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Lanes of a warp.
pub const WARP: u32 = crate::base::lanes::LANES as u32;
/// Bytes of shared memory that a block can ask for.
pub const SHARED_PER_BLOCK: u32 = 227 * 1024;
/// Bytes of shared memory of a multiprocessor.
pub const SHARED_PER_MULTIPROCESSOR: u32 = 228 * 1024;
/// Bytes of shared memory of a multiprocessor that the system has of each block.
pub const RESERVED_SHARED_PER_BLOCK: u32 = 1024;
/// 32-bit registers of a multiprocessor.
pub const REGISTERS_PER_MULTIPROCESSOR: u32 = 65_536;
/// Warps that a multiprocessor keeps resident.
pub const WARPS_PER_MULTIPROCESSOR: u32 = 64;
/// Blocks that a multiprocessor keeps resident.
pub const BLOCKS_PER_MULTIPROCESSOR: u32 = 32;

/// Blocks of so many threads that a multiprocessor keeps resident, given the registers of a thread and the bytes of shared
/// memory of a block.
pub fn resident_blocks(threads: u32, registers: u32, shared: u32) -> u32 {
    if threads == 0 || threads > THREADS_PER_BLOCK || shared > SHARED_PER_BLOCK {
        return 0;
    }
    let warps = threads.div_ceil(WARP);
    // Registers are given out per warp in units of 256, shared memory per block in units of 128 bytes.
    let per_warp = (registers.max(1).next_multiple_of(8) * WARP).next_multiple_of(256);
    let shared = (shared + RESERVED_SHARED_PER_BLOCK).next_multiple_of(128);
    BLOCKS_PER_MULTIPROCESSOR
        .min(WARPS_PER_MULTIPROCESSOR / warps)
        .min(REGISTERS_PER_MULTIPROCESSOR / per_warp / warps)
        .min(SHARED_PER_MULTIPROCESSOR / shared)
}
