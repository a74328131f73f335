//! The conditions of a launch for the soundness of a safe kernel, the further conditions that a kernel states, and the
//! errors of a launch that violates them.
//!
//! Limits of the device (threads per block, shared memory) are the driver's business, not ours.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::{Extent, Kernel, Role};

/// A launch that would break what a kernel relies on.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContractError {
    /// Blocks of another shape than the kernel states.
    #[error(
        "kernel `{kernel}`: a block of {block:?} threads, but the kernel is declared with `block = {}`; launch blocks of \
         exactly {required:?} threads, or change the declaration",
        declared(required)
    )]
    BlockShape {
        /// The kernel.
        kernel: &'static str,
        /// Threads of a block.
        block: [u32; 3],
        /// The block that the kernel states.
        required: [u32; 3],
    },
    /// Blocks with more threads than the kernel states.
    #[error(
        "kernel `{kernel}`: a block of {threads} threads ({block:?}), but the kernel is declared with `max_threads = \
         {limit}`; launch smaller blocks, or change the declaration"
    )]
    MaxThreads {
        /// The kernel.
        kernel: &'static str,
        /// Threads of a block.
        block: [u32; 3],
        /// All of them.
        threads: u64,
        /// The limit that the kernel states.
        limit: u32,
    },
    /// A grid that clusters of the size that the kernel states do not fill.
    #[error(
        "kernel `{kernel}`: {blocks} blocks along {dimension}, but the kernel is declared with `cluster = {}`; launch a \
         multiple of {cluster} blocks along {dimension}",
        declared(shape)
    )]
    Cluster {
        /// The kernel.
        kernel: &'static str,
        /// `x`, `y` or `z`.
        dimension: char,
        /// Blocks of the launch along it.
        blocks: u32,
        /// Blocks of a cluster along it.
        cluster: u32,
        /// The shape that the kernel states.
        shape: [u32; 3],
    },
    /// Less dynamic shared memory than the kernel states.
    #[error(
        "kernel `{kernel}`: {given} bytes of dynamic shared memory for each block, but the kernel is declared with \
         `dynamic_shared = {needed}`; launch it with at least {needed} bytes"
    )]
    DynamicShared {
        /// The kernel.
        kernel: &'static str,
        /// Bytes that the launch gives a block.
        given: u32,
        /// The number that the kernel states.
        needed: u32,
    },
    /// More dimensions than an output of one element per thread has.
    #[error(
        "kernel `{kernel}`: its output `{parameter}` gives each thread of a {rank}-D launch one element, but the launch \
         is {launch}-D (grid {grid:?}, block {block:?}), where several threads would share one; launch it in {rank}-D, \
         or make `{parameter}` a `Disjoint<T, PerThread<{launch}>>`"
    )]
    Rank {
        /// The kernel.
        kernel: &'static str,
        /// The output.
        parameter: &'static str,
        /// Dimensions of the output.
        rank: u8,
        /// Dimensions of the launch.
        launch: u8,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
    },
    /// A block that the kernel's shared memory has no room for.
    #[error(
        "kernel `{kernel}`: a block of {block:?} threads, but each thread has an element in shared memory, and there is \
         room for {room:?}; launch blocks of at most {room:?} threads"
    )]
    Block {
        /// The kernel.
        kernel: &'static str,
        /// Threads of a block.
        block: [u32; 3],
        /// The most there may be.
        room: [u32; 3],
    },
    /// Too many threads along one dimension for 32-bit thread indices.
    #[error(
        "kernel `{kernel}`: {threads} threads along {dimension} ({blocks} blocks of {block} threads), but thread indices \
         go up to 2147483647; launch fewer threads and let each do several elements (`grid_stride`)"
    )]
    Extent {
        /// The kernel.
        kernel: &'static str,
        /// `x`, `y` or `z`.
        dimension: char,
        /// Blocks along it.
        blocks: u32,
        /// Threads of a block along it.
        block: u32,
        /// Threads along it.
        threads: u64,
    },
    /// An output of one element per block is shorter than the grid.
    #[error(
        "kernel `{kernel}`: `{parameter}` has {elements} elements, but the launch has {blocks} blocks and each writes \
         one; make it {blocks} elements long, or launch {elements} blocks"
    )]
    TooFewForBlocks {
        /// The kernel.
        kernel: &'static str,
        /// The output.
        parameter: &'static str,
        /// Its elements.
        elements: usize,
        /// Blocks of the launch.
        blocks: u64,
    },
    /// An output of one element per thread is shorter than the launch needs.
    #[error(
        "kernel `{kernel}`: `{parameter}` has {elements} elements, but the launch needs {needed}; make it {needed} \
         elements long, or launch over {elements}"
    )]
    TooFewForThreads {
        /// The kernel.
        kernel: &'static str,
        /// The output.
        parameter: &'static str,
        /// Its elements.
        elements: usize,
        /// Elements the launch is for.
        needed: usize,
    },
    /// A matrix argument whose shape does not multiply up to its number of elements.
    #[error(
        "kernel `{kernel}`: `{parameter}` has {elements} elements, but its shape {shape:?} has {}; give a shape that \
         multiplies up to {elements}",
        product(shape)
    )]
    Shape {
        /// The kernel.
        kernel: &'static str,
        /// The matrix.
        parameter: &'static str,
        /// Its elements.
        elements: usize,
        /// The shape it was given.
        shape: [usize; 3],
    },
    /// A view that could not be bound.
    #[error("kernel `{kernel}`: `{parameter}`: {error}")]
    View {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The problem.
        error: ViewError,
    },
}

/// An array that a kernel's view cannot be made of.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A slice with a shape that does not multiply up to its number of elements.
    #[error("a slice of {elements} elements has no shape {shape:?}; give a shape that multiplies up to {elements}")]
    Elements {
        /// The elements of the slice.
        elements: usize,
        /// The shape it was given.
        shape: Vec<usize>,
    },
    /// An axis or a stride that 31 bits do not hold.
    #[error(
        "an array of shape {shape:?} with strides {strides:?} has an axis or a stride of more than 2147483647 elements; work on parts of it"
    )]
    TooLong {
        /// How long each axis is.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
    },
    /// A matrix without elements, of which there is no tensor map.
    #[error("a matrix of shape {shape:?} has no elements, and no tensor map; leave the launch out")]
    TensorEmpty {
        /// Rows and columns.
        shape: Vec<usize>,
    },
    /// A matrix to write whose rows overlap, so that two blocks would write the same element.
    #[error(
        "the rows of an output of shape {shape:?} overlap: they are {row_stride} elements apart, and matrices {batch_stride}; give each element a place of its own"
    )]
    TensorOverlap {
        /// Batches, rows and columns.
        shape: Vec<usize>,
        /// Elements from one row to the next.
        row_stride: usize,
        /// Elements from one matrix to the next.
        batch_stride: usize,
    },
    /// A matrix whose rows do not begin where tensor copies can.
    #[error(
        "tensor copies need rows that begin at multiples of 16 bytes: these have {row_bytes} bytes and begin at {address:#x}; pad the rows"
    )]
    TensorRows {
        /// Bytes of a row.
        row_bytes: usize,
        /// Where the first one is on the device.
        address: u64,
    },
    /// An array with four dimensions that does not lie as tensor copies need.
    #[error(
        "tensor copies need rows without gaps between elements that begin at multiples of 16 bytes: those of an array of shape {shape:?} with strides {strides:?} at {address:#x} do not; make a copy of it, with padded rows"
    )]
    TensorStrides {
        /// How long each axis is.
        shape: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
        /// Where the first element is on the device.
        address: u64,
    },
    /// Images or a filter that tensor copies cannot have.
    #[error(
        "tensor copies cannot do a convolution with {window:?}: it has at least one place, at most 2147483647, filters of up to \
         127 rows and columns, as much padding, and strides of 1 to 8"
    )]
    Window {
        /// The images and the filter.
        window: crate::collective::tensor::Window,
    },
    /// A tensor map that the driver does not make.
    #[error(
        "the driver makes no tensor map with tiles {tile:?} of a matrix of shape {shape:?} (CUDA error {code}); tensor maps need a device of compute capability 9.0 or later"
    )]
    TensorRefused {
        /// Rows and columns.
        shape: Vec<usize>,
        /// Rows and columns of its tiles.
        tile: Vec<usize>,
        /// The result of `cuTensorMapEncodeTiled`.
        code: u32,
    },
}

crate::__debug_as_display!(ContractError, ViewError);

/// The number of elements of a shape.
fn product(shape: &[usize; 3]) -> u128 {
    shape.iter().map(|&length| length as u128).product()
}

/// A shape as the macro takes it.
fn declared(&[x, y, z]: &[u32; 3]) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("({x}, {y})"),
        _ => format!("({x}, {y}, {z})"),
    }
}

/// How many dimensions a launch uses: those after the last one longer than 1 do not count.
fn dimensions(grid: [u32; 3], block: [u32; 3]) -> u8 {
    (1..=3u8).rev().find(|&rank| grid[usize::from(rank) - 1] > 1 || block[usize::from(rank) - 1] > 1).unwrap_or(1)
}

/// Checks a launch against the kernel's contract: see [`Contract`](super::Contract).
pub(super) fn check_stated(
    kernel: &'static Kernel,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
) -> Result<(), ContractError> {
    let (contract, kernel) = (&kernel.contract, kernel.name);
    if let Some(required) = contract.block
        && block != required
    {
        return Err(ContractError::BlockShape { kernel, block, required });
    }
    let threads = block.iter().fold(1_u64, |product, &length| product.saturating_mul(u64::from(length)));
    if let Some(limit) = contract.max_threads
        && threads > u64::from(limit)
    {
        return Err(ContractError::MaxThreads { kernel, block, threads, limit });
    }
    if let Some(shape) = contract.cluster {
        for (dimension, (&blocks, cluster)) in ['x', 'y', 'z'].into_iter().zip(grid.iter().zip(shape)) {
            if !blocks.is_multiple_of(cluster) {
                return Err(ContractError::Cluster { kernel, dimension, blocks, cluster, shape });
            }
        }
    }
    if dynamic_shared < contract.dynamic_shared {
        return Err(ContractError::DynamicShared { kernel, given: dynamic_shared, needed: contract.dynamic_shared });
    }
    Ok(())
}

pub(super) fn check(
    kernel: &'static Kernel,
    extents: &[Extent],
    grid: [u32; 3],
    block: [u32; 3],
) -> Result<(), ContractError> {
    for (dimension, (&blocks, &block)) in ['x', 'y', 'z'].into_iter().zip(grid.iter().zip(&block)) {
        let threads = u64::from(blocks) * u64::from(block);
        if threads > i32::MAX as u64 {
            return Err(ContractError::Extent { kernel: kernel.name, dimension, blocks, block, threads });
        }
    }
    if let Some(room) = kernel.max_block
        && block.iter().zip(&room).any(|(threads, room)| threads > room)
    {
        return Err(ContractError::Block { kernel: kernel.name, block, room });
    }
    let launch = dimensions(grid, block);
    let blocks: u64 = grid.iter().map(|&blocks| u64::from(blocks)).product();
    for (parameter, extent) in kernel.parameters.iter().zip(extents) {
        if let Extent::Shaped { elements, shape } = *extent
            && product(&shape) != elements as u128
        {
            return Err(ContractError::Shape { kernel: kernel.name, parameter: parameter.name, elements, shape });
        }
        match parameter.role {
            Role::PerThread { rank, .. } if launch > rank => {
                return Err(ContractError::Rank {
                    kernel: kernel.name,
                    parameter: parameter.name,
                    rank,
                    launch,
                    grid,
                    block,
                });
            }
            Role::PerBlock => {
                let elements = extent.elements().unwrap_or(0);
                if (elements as u64) < blocks {
                    return Err(ContractError::TooFewForBlocks {
                        kernel: kernel.name,
                        parameter: parameter.name,
                        elements,
                        blocks,
                    });
                }
            }
            Role::PerThread { .. }
            | Role::Value
            | Role::Input
            | Role::Atomic
            | Role::Shared
            | Role::Tile { .. }
            | Role::Pointer
            | Role::TensorMap { .. } => {}
        }
    }
    Ok(())
}

pub(super) fn check_for_each(kernel: &'static Kernel, extents: &[Extent], n: usize) -> Result<(), ContractError> {
    for (parameter, extent) in kernel.parameters.iter().zip(extents) {
        if let (Role::PerThread { .. }, Some(elements)) = (parameter.role, extent.elements())
            && elements < n
        {
            return Err(ContractError::TooFewForThreads {
                kernel: kernel.name,
                parameter: parameter.name,
                elements,
                needed: n,
            });
        }
    }
    Ok(())
}
