//! Launches that are refused before the driver sees them, because its own answer would be a number.

use cuda_std::launch::ContractError;

/// Why a launch was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A block has more threads than the device runs in one.
    #[error(
        "cannot launch `{kernel}`: a block of {} threads, this device runs at most {limit} in one block\n\
         help: use smaller blocks and more of them, or `for_each`, which chooses",
        product(block, *.threads)
    )]
    BlockTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// The block asked for.
        block: [u32; 3],
        /// Its threads.
        threads: u64,
        /// The device's limit.
        limit: u32,
    },

    /// A block has more threads than this kernel can be run with.
    #[error(
        "cannot launch `{kernel}`: a block of {} threads, this kernel runs with at most {limit} in one \
         block (it needs {registers} registers in each thread, or is declared so)\n\
         help: use smaller blocks and more of them, or `for_each`, which chooses",
        product(block, *.threads)
    )]
    BlockTooLargeForKernel {
        /// The kernel.
        kernel: &'static str,
        /// The block asked for.
        block: [u32; 3],
        /// Its threads.
        threads: u64,
        /// The kernel's limit.
        limit: u32,
        /// Registers of one thread.
        registers: u32,
    },

    /// One dimension of a block is beyond the device's limit.
    #[error(
        "cannot launch `{kernel}`: the block's {axis} dimension is {value}, this device allows at most {limit} there"
    )]
    BlockDimension {
        /// The kernel.
        kernel: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// What was asked for.
        value: u32,
        /// The device's limit.
        limit: u32,
    },

    /// The grid has no blocks.
    #[error(
        "cannot launch `{kernel}`: a grid of {} has no blocks\n\
         help: each dimension is at least 1; when there may be nothing to do, test for it, or use `for_each`, which does",
        shape(grid)
    )]
    EmptyGrid {
        /// The kernel.
        kernel: &'static str,
        /// The grid asked for.
        grid: [u32; 3],
    },

    /// The block has no threads.
    #[error(
        "cannot launch `{kernel}`: a block of {} has no threads; each dimension is at least 1",
        shape(block)
    )]
    EmptyBlock {
        /// The kernel.
        kernel: &'static str,
        /// The block asked for.
        block: [u32; 3],
    },

    /// One dimension of the grid is beyond the device's limit.
    #[error("cannot launch `{kernel}`: the grid's {axis} dimension is {value}, this device allows at most {limit} there{}", swap(*.axis))]
    GridDimension {
        /// The kernel.
        kernel: &'static str,
        /// `x`, `y` or `z`.
        axis: char,
        /// What was asked for.
        value: u64,
        /// The device's limit.
        limit: u32,
    },

    /// A block would need more shared memory than the device gives to one.
    #[error(
        "cannot launch `{kernel}`: a block would need {} bytes of shared memory ({declared} declared in the kernel + \
         {dynamic} given at the launch), this device gives a block at most {limit}",
        u64::from(*.declared) + u64::from(*.dynamic)
    )]
    SharedMemory {
        /// The kernel.
        kernel: &'static str,
        /// Bytes of the kernel's own shared arrays.
        declared: u32,
        /// Bytes asked for at the launch.
        dynamic: u32,
        /// The device's limit.
        limit: u32,
    },

    /// A cooperative kernel has more blocks than the device runs at the same time.
    #[error(
        "cannot launch `{kernel}`: it is cooperative, so all its blocks run at the same time, and this device runs at most \
         {limit} such blocks, not {blocks}\n\
         help: launch it with `LaunchConfig::at_once(block)`, and let each thread do several elements (a grid-stride loop)"
    )]
    CooperativeGrid {
        /// The kernel.
        kernel: &'static str,
        /// Blocks asked for.
        blocks: u64,
        /// The most there may be.
        limit: u64,
    },

    /// The launch does not keep to what the kernel states, or the arguments do not fit its shape.
    #[error("cannot launch {0}")]
    Contract(ContractError),
}

fn product(block: &[u32; 3], threads: u64) -> String {
    match block {
        [_, 1, 1] => threads.to_string(),
        _ => format!("{} = {threads}", shape(block)),
    }
}

fn shape(dimensions: &[u32; 3]) -> String {
    match dimensions {
        [x, 1, 1] => x.to_string(),
        [x, y, 1] => format!("{x} × {y}"),
        [x, y, z] => format!("{x} × {y} × {z}"),
    }
}

fn swap(axis: char) -> &'static str {
    match axis {
        'x' => "\nhelp: let each thread do several elements (a grid-stride loop)",
        _ => "\nhelp: x allows the most blocks: put the largest dimension there",
    }
}
