//! The contents of a profile: activities of devices, calls of the driver, and named ranges of the program.

use std::time::Duration;

/// Something that a device did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Activity {
    /// The operation.
    pub operation: Operation,
    /// The number of the device.
    pub device: u32,
    pub(crate) stream: usize,
    pub(crate) is_default: bool,
    /// When it began, from the start of the profile.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
}

/// An operation of a device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Operation {
    /// A launch of a kernel.
    Kernel(Box<Launched>),
    /// A copy from the host.
    CopyIn {
        /// How much.
        bytes: u64,
    },
    /// A copy to the host.
    CopyOut {
        /// How much.
        bytes: u64,
    },
    /// A copy within the device's memory, or to another device.
    Copy {
        /// How much.
        bytes: u64,
    },
    /// A fill of memory with a value.
    Fill {
        /// How much.
        bytes: u64,
    },
    /// A launch of a graph, whose parts are not distinguished.
    Graph,
}

/// A kernel as it was launched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Launched {
    /// Its name.
    pub kernel: &'static str,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub dynamic_shared: u32,
    /// The resources that the driver's compiler reports.
    pub info: KernelInfo,
}

/// A call of the driver, as the host saw it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostCall {
    /// The purpose of the call.
    pub name: &'static str,
    /// A number for the thread that made it.
    pub thread: u32,
    /// When it began, from the start of the profile.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
}

/// A range of the program that was given a name by [`crate::nvtx::range`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RangeSpan {
    /// The name.
    pub name: String,
    /// A number for its thread.
    pub thread: u32,
    /// When it began, from the start of the profile.
    pub start: Duration,
    /// How long it took.
    pub duration: Duration,
}

impl Operation {
    /// The name of the kernel, or of the kind of copy.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Kernel(launched) => launched.kernel,
            Operation::CopyIn { .. } => "copy host to device",
            Operation::CopyOut { .. } => "copy device to host",
            Operation::Copy { .. } => "copy on the device",
            Operation::Fill { .. } => "fill",
            Operation::Graph => "graph",
        }
    }

    /// The number of bytes of a copy or a fill.
    pub fn bytes(&self) -> Option<u64> {
        match *self {
            Operation::Kernel(_) | Operation::Graph => None,
            Operation::CopyIn { bytes }
            | Operation::CopyOut { bytes }
            | Operation::Copy { bytes }
            | Operation::Fill { bytes } => Some(bytes),
        }
    }

    /// The host's call that began the operation.
    pub(crate) fn call(&self) -> &'static str {
        match self {
            Operation::Kernel(_) => "launch a kernel",
            Operation::Graph => "launch a graph",
            Operation::CopyIn { .. } | Operation::CopyOut { .. } | Operation::Copy { .. } => "copy",
            Operation::Fill { .. } => "fill",
        }
    }
}

impl Launched {
    /// Its blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&length| u64::from(length)).product()
    }
}

/// The resources of a kernel, from the driver's compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Registers of one thread.
    pub registers: u32,
    /// Bytes of shared memory that the kernel itself declares, for one block.
    pub shared_memory: u32,
    /// Bytes of local memory (spilled registers and indexed arrays) of one thread.
    pub local_memory: u32,
    /// The largest block that the kernel can be launched with.
    pub threads_per_block: u32,
}
