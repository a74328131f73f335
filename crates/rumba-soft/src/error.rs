//! Why the software device refused a call: all of its wording, and the code that each cause becomes.
//!
//! Callers in C see only the code; the sentence goes to `RUMBA_LOG`. NVIDIA's driver is not described here.

use rumba_interface::calls::family;
use rumba_vm::limits::Multiprocessor;

use crate::code::Code;

/// The newest architecture that a device can have.
const NEWEST: u32 = Multiprocessor::ALL[Multiprocessor::ALL.len() - 1].capability;

/// The unsupported family of calls that a call belongs to, behind a colon.
fn left_out(call: &str) -> String {
    family(call).map_or_else(String::new, |family| format!(": {family} are left out"))
}

/// A refusal by the software device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("the software device could not be made: {0}")]
    Device(String),
    #[error("cuInit has not been called in this process, or failed")]
    NotInitialized,
    #[error(
        "this process was forked after the first call of the driver, and lacks the threads of the device: start processes with \
         `spawn` instead (in Python, `multiprocessing.set_start_method(\"spawn\")`), or fork before the first call"
    )]
    Forked,
    #[error("the calling thread is ending and has no contexts any more")]
    ThreadEnding,
    #[error(
        "there is no device {0} that this can be done with: the software device is device 0, and RUMBA_SOFT_DEVICES asks for more"
    )]
    InvalidDevice(i32),
    #[error("the argument `{0}` is null")]
    Null(&'static str),
    #[error("the argument `{name}` is {value}: {rule}")]
    Argument { name: &'static str, value: String, rule: &'static str },
    #[error("{0}")]
    Launch(String),
    #[error("{0}")]
    Cluster(String),
    #[error("no allocation holds the {bytes} bytes at {address:#x}")]
    Range { address: u64, bytes: u64 },
    #[error("{address:#x} is not the start of {expected}")]
    NotAllocated { address: u64, expected: &'static str },
    #[error("{asked} bytes were asked for, and {free} bytes of device memory are free")]
    OutOfMemory { asked: u64, free: u64 },
    #[error("this thread has no current context: cuCtxSetCurrent or cuCtxCreate makes one current")]
    NoContext,
    #[error("{0:#x} is no context of the software device")]
    UnknownContext(usize),
    #[error("the primary context belongs to the device: cuDevicePrimaryCtxRelease gives it back")]
    PrimaryContext,
    #[error("the primary context is not retained")]
    NotRetained,
    #[error("the context was destroyed or reset, and what was made in it went with it")]
    ContextDestroyed,
    #[error("{value:#x} is no {kind}: it was never made, or it has been destroyed")]
    Handle { kind: &'static str, value: usize },
    #[error("the {kind} belongs to another context than the stream")]
    ForeignContext { kind: &'static str },
    #[error("{0}")]
    EventWithoutTime(&'static str),
    #[error("an earlier kernel of this context failed with {}, and nothing works in it any more", .0.name())]
    Sticky(Code),
    #[error("there is no {kind} named `{name}` in the module")]
    NotFound { kind: &'static str, name: String },
    #[error("no allocation holds {0:#x}")]
    NoAllocation(u64),
    #[error("{path}: {cause}")]
    File { path: String, cause: String },
    #[error("not a module: {0}")]
    Image(String),
    #[error("the image holds {0}, which only NVIDIA's hardware runs: build it with PTX in it")]
    NoPtx(&'static str),
    #[error(
        "the PTX is for sm_{wanted}, and the device has compute capability {}.{}: compile the kernels for sm_{device} as well, \
         or let RUMBA_SOFT_ARCH ask for a newer device, up to {}.{}",
        device / 10, device % 10, NEWEST / 10, NEWEST % 10
    )]
    Newer {
        /// The architecture of the text.
        wanted: u32,
        /// That of the device.
        device: u32,
    },
    #[error("{report}")]
    Ptx {
        /// The faults in the form in which NVIDIA's assembler logs them.
        log: String,
        /// The faults at length.
        report: String,
    },
    #[error("{0}")]
    NotExecuted(String),
    #[error("PTX of version {0} is newer than 9.x, which is the newest that the software device reads")]
    PtxVersion(String),
    #[error("{0}")]
    Memory(String),
    #[error("{what} is not served by the software device yet{}", left_out(what))]
    Unserved { what: &'static str },
    #[error("a host function of a stream called the driver, which CUDA does not allow")]
    InHostFunction,
    #[error("the limit {0} cannot be changed on this device")]
    Limit(i32),
    #[error("the launch passes {given} bytes of parameters, the kernel takes {taken}")]
    ParameterBytes { given: usize, taken: usize },
    #[error("a cooperative launch of {blocks} blocks exceeds the {resident} that the device holds at once")]
    TooManyBlocks { blocks: u64, resident: u64 },
    #[error("the device has no peers")]
    NoPeer,
    #[error("peer access is enabled already")]
    PeerEnabled,
    #[error("peer access was not enabled")]
    PeerNotEnabled,
    #[error("the memory at {0:#x} is registered already")]
    Registered(u64),
    #[error("the memory at {0:#x} is not registered")]
    NotRegistered(u64),
    #[error("there are programmatic dependencies, which only a call that takes the edges' data tells")]
    LossyQuery,
    #[error("a stream is being captured, or is not: {}", .0.name())]
    Capture(Code),
    #[error("the system refused memory: {0}")]
    System(String),
    #[error("the work before it is not done yet")]
    NotReady,
    #[error("the device has no execution affinity")]
    ExecAffinity,
    #[error("no function of the driver is called `{0}`")]
    NoFunction(String),
}

impl Error {
    /// The text of an error log of the driver API: one line per fault, as tools that read such logs expect.
    pub(crate) fn log(&self) -> String {
        match self {
            Self::Ptx { log, .. } => log.trim_end().to_owned(),
            other => format!("error   : {other}"),
        }
    }

    /// The code that the caller gets.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Device(_) => Code::UNKNOWN,
            Self::NotInitialized | Self::Forked => Code::NOT_INITIALIZED,
            Self::ThreadEnding => Code::DEINITIALIZED,
            Self::InvalidDevice(_) => Code::INVALID_DEVICE,
            Self::Null(_)
            | Self::Argument { .. }
            | Self::Launch(_)
            | Self::Memory(_)
            | Self::Range { .. }
            | Self::NotAllocated { .. } => Code::INVALID_VALUE,
            Self::Cluster(_) => Code::INVALID_CLUSTER_SIZE,
            Self::OutOfMemory { .. } | Self::System(_) => Code::OUT_OF_MEMORY,
            Self::NoContext | Self::UnknownContext(_) | Self::PrimaryContext | Self::NotRetained => {
                Code::INVALID_CONTEXT
            }
            Self::ContextDestroyed => Code::CONTEXT_IS_DESTROYED,
            Self::Handle { .. } | Self::ForeignContext { .. } | Self::EventWithoutTime(_) => Code::INVALID_HANDLE,
            Self::Sticky(code) | Self::Capture(code) => *code,
            Self::LossyQuery => Code::LOSSY_QUERY,
            Self::NotFound { .. } | Self::NoAllocation(_) | Self::NoFunction(_) => Code::NOT_FOUND,
            Self::File { .. } => Code::FILE_NOT_FOUND,
            Self::Image(_) => Code::INVALID_IMAGE,
            Self::NoPtx(_) | Self::Newer { .. } => Code::NO_BINARY_FOR_GPU,
            Self::Ptx { .. } => Code::INVALID_PTX,
            Self::PtxVersion(_) => Code::UNSUPPORTED_PTX_VERSION,
            Self::Unserved { .. } | Self::NotExecuted(_) => Code::NOT_SUPPORTED,
            Self::InHostFunction => Code::NOT_PERMITTED,
            Self::Limit(_) => Code::UNSUPPORTED_LIMIT,
            Self::ParameterBytes { .. } => Code::LAUNCH_OUT_OF_RESOURCES,
            Self::TooManyBlocks { .. } => Code::COOPERATIVE_LAUNCH_TOO_LARGE,
            Self::NotReady => Code::NOT_READY,
            Self::ExecAffinity => Code::UNSUPPORTED_EXEC_AFFINITY,
            Self::NoPeer => Code::PEER_ACCESS_UNSUPPORTED,
            Self::PeerEnabled => Code::PEER_ACCESS_ALREADY_ENABLED,
            Self::PeerNotEnabled => Code::PEER_ACCESS_NOT_ENABLED,
            Self::Registered(_) => Code::HOST_MEMORY_ALREADY_REGISTERED,
            Self::NotRegistered(_) => Code::HOST_MEMORY_NOT_REGISTERED,
        }
    }
}
