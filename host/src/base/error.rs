//! Every way in which a call of this library can fail, each with a sentence that names the cause,
//! the place and the remedy. All wording of the runtime's errors lives in this module.
//!
//! It makes no decisions: what is checked, and when, is the business of the callers.

mod array;
mod cust;
mod driver;
mod graph;
mod interop;
mod kernel_panic;
mod launch;
mod library;
mod linalg;
mod module;
mod nccl;
mod ranks;

pub(crate) use crate::cuda::{Code, answer};
pub use array::ArrayError;
#[cfg(feature = "inspect")]
pub use cuda_builder::inspect::InspectError;
pub use cuda_std::launch::{ContractError, ShapeError};
pub use cust::CustError;
pub use driver::{DriverError, Fault};
pub use graph::GraphError;
pub use interop::InteropError;
pub use kernel_panic::KernelPanic;
pub use launch::LaunchError;
pub(crate) use launch::threads;
pub use library::LibraryError;
pub use linalg::LinalgError;
pub use module::ModuleError;
pub use nccl::NcclError;
pub use ranks::{RankError, TcpReason};

use std::sync::Arc;

/// The result of this library's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call of this library failed.
///
/// The text is meant to be shown to the person at the keyboard as it is. `Debug` gives the same text, so that a `main` which
/// returns this error and an `unwrap` show it too. An error can be cloned, since several may wait for
/// the same work.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No device was found, or not the device that `RUMBA_DEVICE` asks for.
    #[error("{0}")]
    NoDevice(String),

    /// A device was asked for by a number that no device has.
    #[error(
        "there is no CUDA device {ordinal}: {}",
        match count { 1 => "the only one is device 0".to_owned(), n => format!("the driver reports {n}, counted from 0") }
    )]
    NoSuchDevice {
        /// The number asked for.
        ordinal: u32,
        /// How many devices there are.
        count: u32,
    },

    /// A device was asked for by an identity that no device has.
    #[error("there is no CUDA device with {identity}\nhelp: `rumba::Device::all` lists those there are")]
    NoDeviceWith {
        /// The identity that was requested.
        identity: String,
    },

    /// The driver refused a call.
    #[error(transparent)]
    Driver(Box<DriverError>),

    /// A kernel did something that stopped it, and its context with it.
    #[error(transparent)]
    Fault(Box<Fault>),

    /// A thread of a kernel panicked. The context remains usable.
    #[error(transparent)]
    Panic(Box<KernelPanic>),

    /// The context was lost to an earlier fault; nothing in it can be used any more.
    #[error(
        "cannot {operation}: the context of device {device} was lost to an earlier fault: {cause}\n\
         help: `device.reset()` starts a new context where the driver can; modules, buffers and streams must be made anew"
    )]
    ContextLost {
        /// The requested operation.
        operation: String,
        /// The number of the device.
        device: u32,
        /// The first line of the fault that ended the context.
        cause: String,
    },

    /// The driver keeps the fault of an earlier context until the process ends. NVIDIA's does.
    #[error(
        "cannot start a new context on device {device}: the driver still reports an earlier fault, {} ({})\n\
         help: this driver recovers only in a new process; start the program again",
        error.text, error.name
    )]
    NeedsRestart {
        /// The number of the device.
        device: u32,
        /// The driver's error.
        error: Box<DriverError>,
    },

    /// The context was destroyed by `Device::reset`, and with it the thing that was to be used.
    #[error(
        "cannot {operation}: its context on device {device} was destroyed by `device.reset()`\n\
         help: modules, buffers, streams and events do not survive a reset; make them anew"
    )]
    ContextDestroyed {
        /// The requested operation, naming the object.
        operation: String,
        /// The number of the device.
        device: u32,
    },

    /// Things of two different contexts were used together.
    #[error("cannot {operation}: it belongs to device {theirs}, this call to device {ours}")]
    OtherDevice {
        /// The requested operation, naming the object.
        operation: String,
        /// The device of the call.
        ours: u32,
        /// The device of the thing.
        theirs: u32,
    },

    /// PTX could not be loaded, or a kernel is not in it.
    #[error(transparent)]
    Module(Box<ModuleError>),

    /// A launch was refused before it reached the driver.
    #[error(transparent)]
    Launch(Box<LaunchError>),

    /// Something of the crate `cust` that was not taken over, or not handed over.
    #[error(transparent)]
    Cust(#[from] CustError),

    /// A tensor of another library that was not taken.
    #[error(transparent)]
    Interop(#[from] InteropError),

    /// Something that cannot be recorded for a graph.
    #[error(transparent)]
    Graph(Box<GraphError>),

    /// A call inside a function that a stream waits for.
    #[error(
        "cannot {operation} inside a host function of a stream: the device may be waiting for that function\n\
         help: use `Stream::add_callback`, whose callbacks may call this library, or tell another thread"
    )]
    InHostFunction {
        /// The requested operation.
        operation: String,
    },

    /// A collective operation that could not be done.
    #[error(transparent)]
    Nccl(Box<NcclError>),

    /// Processes that could not meet, or go on together.
    #[error(transparent)]
    Rank(Box<RankError>),

    /// Shapes of arrays that do not fit.
    #[error(transparent)]
    Array(Box<ArrayError>),

    /// Operands of linear algebra that do not fit together.
    #[error(transparent)]
    Linalg(Box<LinalgError>),

    /// A library of NVIDIA's that is missing, or a call that does not fit.
    #[error(transparent)]
    Library(Box<LibraryError>),

    /// Two lengths that must be equal are not.
    #[error("cannot {operation}: the source has {source_length} elements, the destination {destination_length}")]
    LengthMismatch {
        /// The requested operation.
        operation: &'static str,
        /// Elements of the source.
        source_length: usize,
        /// Elements of the destination.
        destination_length: usize,
    },

    /// The device has too little free memory.
    #[error(
        "out of device memory: cannot {operation}, which needs {bytes} bytes; device {device} has {free} of {total} free\n\
         help: drop buffers that are no longer needed, or work in smaller pieces"
    )]
    OutOfMemory {
        /// The requested operation.
        operation: String,
        /// The number of the device.
        device: u32,
        /// Bytes asked for.
        bytes: usize,
        /// Bytes free at that moment.
        free: usize,
        /// Bytes that the device has.
        total: usize,
    },

    /// A profile was asked for within a program that is being profiled.
    #[error(
        "cannot take a profile within another of the same thread\n\
         help: profile the whole once, and name its parts with `rumba::nvtx::range`"
    )]
    NestedProfile,

    /// Two versions of a function came to different results.
    #[error("{what}: the CPU and the device disagree: {difference}")]
    Disagreement {
        /// The computed quantity.
        what: String,
        /// The first difference.
        difference: String,
    },

    /// A file could not be written.
    #[error("could not write {}: {source}", path.display())]
    Unwritable {
        /// The file, or its folder.
        path: std::path::PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },

    /// More elements than an algorithm takes.
    #[error("cannot {operation} {length} elements: at most {limit}")]
    TooManyElements {
        /// The requested operation.
        operation: &'static str,
        /// Elements there are.
        length: usize,
        /// The most there may be.
        limit: usize,
    },

    /// A range of values that has none in it.
    #[error("cannot {operation}: the range is empty; its start must be below its end")]
    NoRange {
        /// The requested operation.
        operation: &'static str,
    },

    /// A length in bytes that no address space holds.
    #[error("{length} elements of {size} bytes each are more bytes than can be addressed")]
    TooLarge {
        /// Elements asked for.
        length: usize,
        /// Bytes of one element.
        size: usize,
    },
}

// A single list of all error types, so that none is forgotten.
cuda_std::__debug_as_display!(
    Error,
    DriverError,
    Fault,
    KernelPanic,
    ModuleError,
    LaunchError,
    GraphError,
    CustError,
    InteropError,
    ArrayError,
    LibraryError,
    LinalgError,
    NcclError,
    RankError,
);

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Error {
        Error::Driver(Box::new(error))
    }
}

impl From<KernelPanic> for Error {
    fn from(panic: KernelPanic) -> Error {
        Error::Panic(Box::new(panic))
    }
}

impl Error {
    /// With the name of the kernel, where a panic does not know it.
    pub(crate) fn in_kernel(mut self, name: &'static str) -> Error {
        if let Error::Panic(panic) = &mut self {
            panic.kernel.get_or_insert(name);
        }
        self
    }
}

impl From<ModuleError> for Error {
    fn from(error: ModuleError) -> Error {
        Error::Module(Box::new(error))
    }
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Error {
        Error::Graph(Box::new(error))
    }
}

impl From<NcclError> for Error {
    fn from(error: NcclError) -> Error {
        Error::Nccl(Box::new(error))
    }
}

impl From<RankError> for Error {
    fn from(error: RankError) -> Error {
        Error::Rank(Box::new(error))
    }
}

impl From<LaunchError> for Error {
    fn from(error: LaunchError) -> Error {
        Error::Launch(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, LaunchError};

    /// Results travel through every call of the library, so the error must stay small.
    #[test]
    fn errors_are_small() {
        assert!(size_of::<Error>() <= 64, "{}", size_of::<Error>());
    }

    #[test]
    fn errors_say_what_to_do() {
        let error = Error::ContextDestroyed { operation: "copy from a DeviceBuffer<f32>".into(), device: 0 };
        let text = error.to_string();
        assert!(text.contains("copy from a DeviceBuffer<f32>") && text.contains("help: "), "{text}");
        let error = Error::from(LaunchError::EmptyGrid { kernel: "saxpy", grid: [0, 1, 1] });
        assert!(error.to_string().contains("`saxpy`"), "{error}");
    }
}
