//! Launches that are refused before the driver sees them, because its own answer would be a number.

use cuda_std::launch::ContractError;

/// Why a launch was refused.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A block has more threads than the device runs in one.
    #[error(
        "cannot launch `{kernel}`: a block of {} threads, but {device} runs at most {limit} in one block\n\
         help: {}, or `for_each`, which chooses",
        product(block, *.threads), smaller(*.grid, *.block, *.limit)
    )]
    BlockTooLarge {
        /// The kernel.
        kernel: &'static str,
        /// The device, as "device 0 (NVIDIA H200)".
        device: String,
        /// The grid asked for.
        grid: [u32; 3],
        /// The block asked for.
        block: [u32; 3],
        /// Its threads.
        threads: u64,
        /// The device's limit.
        limit: u32,
    },

    /// A block has more threads than this kernel can be run with.
    #[error(
        "cannot launch `{kernel}`: a block of {} threads, but on {device} this kernel runs with at most {limit} in one \
         block (it needs {registers} registers in each thread, or is declared so)\n\
         help: {}, or `for_each`, which chooses",
        product(block, *.threads), smaller(*.grid, *.block, *.limit)
    )]
    BlockTooLargeForKernel {
        /// The kernel.
        kernel: &'static str,
        /// The device, as "device 0 (NVIDIA H200)".
        device: String,
        /// The grid asked for.
        grid: [u32; 3],
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
        "cannot launch `{kernel}`: the block's {axis} dimension is {value}, but {device} allows at most {limit} there\n\
         help: put more threads into x, which allows the most, or more blocks into the grid"
    )]
    BlockDimension {
        /// The kernel.
        kernel: &'static str,
        /// The device, as "device 0 (NVIDIA H200)".
        device: String,
        /// `x`, `y` or `z`.
        axis: char,
        /// The requested value.
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
    #[error("cannot launch `{kernel}`: a block of {} has no threads; each dimension is at least 1", shape(block))]
    EmptyBlock {
        /// The kernel.
        kernel: &'static str,
        /// The block asked for.
        block: [u32; 3],
    },

    /// Neither the kernel nor the launch says how many threads a block has.
    #[error(
        "cannot launch `{kernel}`: neither the kernel nor the launch says how many threads a block has; write \
         `#[kernel(block = 256)]`, or `.block(256)` behind the configuration"
    )]
    NoBlock {
        /// The kernel.
        kernel: &'static str,
    },

    /// One dimension of the grid is beyond the device's limit.
    #[error(
        "cannot launch `{kernel}`: the grid's {axis} dimension is {value}, but {device} allows at most {limit} there{}",
        swap(*.axis)
    )]
    GridDimension {
        /// The kernel.
        kernel: &'static str,
        /// The device, as "device 0 (NVIDIA H200)".
        device: String,
        /// `x`, `y` or `z`.
        axis: char,
        /// The requested value.
        value: u64,
        /// The device's limit.
        limit: u32,
    },

    /// A block would need more shared memory than the device gives to one.
    #[error(
        "cannot launch `{kernel}`: a block would need {} bytes of shared memory ({declared} declared in the kernel + \
         {dynamic} given at the launch), but {device} gives a block at most {limit}\n\
         help: {}",
        u64::from(*.declared) + u64::from(*.dynamic), room(*.declared, *.limit)
    )]
    SharedMemory {
        /// The kernel.
        kernel: &'static str,
        /// The device, as "device 0 (NVIDIA H200)".
        device: String,
        /// Bytes of the kernel's own shared arrays.
        declared: u32,
        /// Bytes asked for at the launch.
        dynamic: u32,
        /// The device's limit.
        limit: u32,
    },

    /// A cooperative kernel has more blocks than the device runs at the same time.
    #[error(
        "cannot launch `{kernel}`: it is cooperative, so all its blocks run at the same time, and {device} runs at most \
         {limit} such blocks, not {blocks}\n\
         help: launch it with `LaunchConfig::at_once()`, and let each thread do several elements (a grid-stride loop)"
    )]
    CooperativeGrid {
        /// The kernel.
        kernel: &'static str,
        /// The device, as "device 0 (NVIDIA H200)".
        device: String,
        /// Blocks asked for.
        blocks: u64,
        /// The most there may be.
        limit: u64,
    },

    /// Host memory that is only copied back has more elements than the launch reaches, and the others would come back as the
    /// device's memory happens to be.
    #[error(
        "cannot launch `{kernel}`: {} reach {reached} of the {elements} elements of `{parameter}`, and its `Out(..)` would \
         bring back the others as the device's memory happens to be\n\
         help: launch more, or with `for_each({elements}, ..)`; pass only the part that is meant; or pass `InOut(..)`, which keeps \
         the others as they are",
        threads(grid, block)
    )]
    Unreached {
        /// The kernel.
        kernel: &'static str,
        /// The output.
        parameter: &'static str,
        /// Blocks of the launch.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Elements that the launch reaches.
        reached: usize,
        /// The number of elements.
        elements: usize,
    },

    /// The launch does not keep to what the kernel states, or the arguments do not fit its shape.
    #[error("cannot launch {0}")]
    Contract(ContractError),
}

/// A shape that fits: the block halved along its longest side, and the grid doubled there, until the block fits.
fn smaller(grid: [u32; 3], block: [u32; 3], limit: u32) -> String {
    let threads = |block: [u32; 3]| block.iter().map(|&length| u64::from(length)).product::<u64>();
    let (mut fitting, mut blocks) = (block, grid.map(u64::from));
    while threads(fitting) > u64::from(limit) && fitting != [1; 3] {
        let longest = (0..3).max_by_key(|&axis| fitting[axis]).unwrap_or(0);
        fitting[longest] = fitting[longest].div_ceil(2);
        blocks[longest] = (u64::from(grid[longest]) * u64::from(block[longest])).div_ceil(fitting[longest].into());
    }
    let blocks = blocks.map(|length| u32::try_from(length).unwrap_or(u32::MAX));
    format!("a grid of {} blocks of {} threads would fit", shape(&blocks), shape(&fitting))
}

/// The dynamic shared memory that fits.
fn room(declared: u32, limit: u32) -> String {
    match limit.checked_sub(declared) {
        Some(room) => format!("a launch with at most {room} bytes of dynamic shared memory would fit"),
        None => "no launch would fit: make the kernel's own shared arrays smaller".to_owned(),
    }
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

/// "4 blocks of 256 threads".
pub(crate) fn threads(grid: &[u32; 3], block: &[u32; 3]) -> String {
    let noun = |lengths: &[u32; 3], one: &str| match lengths {
        [1, 1, 1] => format!("1 {one}"),
        lengths => format!("{} {one}s", shape(lengths)),
    };
    format!("{} of {}", noun(grid, "block"), noun(block, "thread"))
}

fn swap(axis: char) -> &'static str {
    match axis {
        'x' => "\nhelp: let each thread do several elements (a grid-stride loop)",
        _ => "\nhelp: x allows the most blocks: put the largest dimension there",
    }
}
