//! Why collective operations fail before or inside NCCL.

/// Why a [`Communicator`](crate::nccl::Communicator) could not be made or used.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NcclError {
    /// The library does not load.
    #[error(
        "cannot load NCCL, `{library}`: {cause}\n\
         help: install it (Debian's libnccl2, pip's nvidia-nccl-cu13), and name the file in RUMBA_NCCL_LIBRARY or its folder \
         in LD_LIBRARY_PATH"
    )]
    Missing {
        /// The library that was looked for.
        library: String,
        /// The loader's error.
        cause: String,
    },

    /// The library lacks a function that every version since the oldest one served has.
    #[error(
        "`{library}` is not NCCL, or too old: it has no function `{function}`\n\
         help: NCCL 2.10 or newer is needed; name its file in RUMBA_NCCL_LIBRARY"
    )]
    NoFunction {
        /// The file.
        library: String,
        /// The missing function.
        function: String,
    },

    /// The library is of a version that is not served.
    #[error(
        "`{library}` is NCCL {}.{}.{}, and 2.10 or newer is needed\n\
         help: install a newer one, or name its file in RUMBA_NCCL_LIBRARY",
        version.0, version.1, version.2
    )]
    TooOld {
        /// The file.
        library: String,
        /// Its version.
        version: (u32, u32, u32),
    },

    /// NCCL refused a call.
    #[error("NCCL could not {operation}: {text}{}\nhelp: NCCL_DEBUG=INFO makes it say more", detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default())]
    Refused {
        /// The requested operation.
        operation: &'static str,
        /// Its text for the code that it gave.
        text: String,
        /// NCCL's text about the last error, if any.
        detail: Option<String>,
    },

    /// The number of buffers differs from the number of devices.
    #[error("{operation} takes one buffer for each of the {devices} devices, and got {buffers}")]
    Buffers {
        /// The requested operation.
        operation: &'static str,
        /// Buffers passed.
        buffers: usize,
        /// Devices of the communicator.
        devices: usize,
    },

    /// The communicator has no device of this number.
    #[error("there is no device {rank} in this communicator: it has {count}, counted from 0")]
    NoSuchRank {
        /// The number asked for.
        rank: usize,
        /// Devices of the communicator.
        count: usize,
    },

    /// Memory of a device that is not in the communicator.
    #[error("device {device} is not one of this communicator's")]
    NotAMember {
        /// The number of the device.
        device: u32,
    },

    /// A device is in the list twice.
    #[error("device {device} is in the list twice: a communicator has each device once")]
    Twice {
        /// The number of the device.
        device: u32,
    },

    /// The list of devices is empty.
    #[error("a communicator has at least one device, and the list is empty")]
    NoDevices,
}
