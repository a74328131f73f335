//! Operations that cannot be part of a graph.

/// Why a launch was not recorded for a graph.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A launch with host memory, which is copied and waited for.
    #[error(
        "cannot record the launch of `{kernel}`: its argument {parameter} (in PTX, counted from 0) is host memory, which is \
         copied for each launch\n\
         help: pass a DeviceBuffer, and copy to and from it between the graph's launches"
    )]
    HostMemory {
        /// The kernel.
        kernel: &'static str,
        /// The first PTX parameter that is host memory.
        parameter: usize,
    },

    /// A launch with managed or mapped memory, which the host could look at while the graph runs.
    #[error(
        "cannot record the launch of `{kernel}`: among its arguments is managed or mapped memory, which a graph would use \
         while the host does\n\
         help: pass a DeviceBuffer"
    )]
    UnifiedMemory {
        /// The kernel.
        kernel: &'static str,
    },

    /// A launch with memory of another library that is borrowed until the end of a scope.
    #[error(
        "cannot record the launch of `{kernel}`: among its arguments is memory that another library has lent until the end of a scope, \
         and a graph would keep it\n\
         help: take the memory over with `DeviceBuffer::from_cudarc`"
    )]
    Lent {
        /// The kernel.
        kernel: &'static str,
    },

    /// A cooperative kernel with memory of each launch's own: the counter of a `GridGroup`, or host memory.
    #[error(
        "cannot record the launch of `{kernel}`: graphs hold no cooperative kernels with a `GridGroup` or host memory\n\
         help: launch it on a stream between two graphs"
    )]
    Cooperative {
        /// The kernel.
        kernel: &'static str,
    },

    /// Something other than a launch.
    #[error(
        "cannot {operation}: the stream only records launches for a graph\n\
         help: do it on another stream, or after the capture"
    )]
    NotALaunch {
        /// The requested operation.
        operation: String,
    },

    /// Work on the default stream while launches are recorded.
    #[error(
        "cannot {operation} on the default stream while this thread records launches for a graph: it would be done once, now, and not be \
         part of the graph\n\
         help: launch it on the stream of the capture (`LaunchConfig::stream`, `Linalg::on`, `Algorithms::on`), or do it before or after \
         the capture; arrays and copies on the device have the default stream only"
    )]
    DefaultStream {
        /// The requested operation.
        operation: String,
    },

    /// A launch on the stream of a capture that is over.
    #[error(
        "cannot launch `{kernel}`: its stream recorded launches for a graph, and the capture is over\n\
         help: a stream of `Device::capture` is good inside the closure only; use one of `Device::stream`"
    )]
    Ended {
        /// The kernel.
        kernel: &'static str,
    },
}
