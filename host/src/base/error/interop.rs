//! Tensors of other libraries that this runtime cannot use.

use crate::base::dtype::DType;

/// Why a tensor of another library was not taken.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InteropError {
    /// The elements have another type than the program expects.
    #[error(
        "the tensor has elements of type {found}, and the program expects {wanted}\nhelp: convert it in the library that made it"
    )]
    Type {
        /// The type of the tensor's elements.
        found: DType,
        /// The type of the elements that were asked for.
        wanted: DType,
    },

    /// The tensor has another number of dimensions than the program expects.
    #[error("the tensor has {} dimensions, of shape {shape:?}, and the program expects {wanted}", shape.len())]
    Axes {
        /// The length of each axis.
        shape: Vec<usize>,
        /// The number of dimensions that was asked for.
        wanted: usize,
    },

    /// The elements are not in row-major order without gaps.
    #[error(
        "the elements of shape {shape:?} are not one after the other: their strides are {strides:?} elements\n\
         help: take a view, which has strides, or make the tensor contiguous in the library that made it"
    )]
    NotContiguous {
        /// The length of each axis.
        shape: Vec<usize>,
        /// How many elements further the next one of each axis is.
        strides: Vec<isize>,
    },

    /// Several indices name one element of a tensor that is to be written.
    #[error(
        "the tensor cannot be written: with shape {shape:?} and strides {strides:?} several indices may name one element\n\
         help: copy the tensor in the library that made it"
    )]
    Overlaps {
        /// The length of each axis.
        shape: Vec<usize>,
        /// How many elements further the next one of each axis is.
        strides: Vec<isize>,
    },

    /// The tensor is to be written, and its owner forbids it.
    #[error("the tensor is read-only\nhelp: copy it in the library that made it")]
    ReadOnly,

    /// The memory is in use by another array of this runtime, and one of both writes it.
    #[error(
        "the memory of the tensor is in use: another argument or array of this program has the same memory, and one of both writes it\n\
         help: pass each tensor that is written once only, or copy it"
    )]
    InUse,

    /// The memory is the host's.
    #[error(
        "the tensor is in host memory\nhelp: move it to the device in the library that made it, or copy its elements with `host_slice`"
    )]
    OnHost,

    /// The memory is a device's.
    #[error(
        "the tensor is in the memory of device {ordinal}, not of the host\nhelp: `read` and `write` take it without a copy"
    )]
    OnDevice {
        /// The device.
        ordinal: u32,
    },

    /// The memory is another device's.
    #[error("the tensor is in the memory of device {theirs}, and this call is for device {ours}")]
    OtherDevice {
        /// The device of the tensor.
        theirs: u32,
        /// The device of the call.
        ours: u32,
    },

    /// The memory belongs to no context that this runtime uses.
    #[error(
        "the memory at {address:#x} does not belong to the primary context of device {ordinal}\n\
         help: libraries share memory through the primary context (`cuDevicePrimaryCtxRetain`), and through one driver: in a process \
         without a GPU both must load the same libcuda.so.1, as under `cargo rumba check`"
    )]
    OtherContext {
        /// The address.
        address: u64,
        /// The device.
        ordinal: u32,
    },

    /// cudarc finds no library of the driver.
    #[error(
        "cudarc finds no libcuda.so.1, the library of CUDA's driver\n\
         help: without a GPU, start the program with `cargo rumba check -- PROGRAM`: both libraries then use one software device"
    )]
    NoDriver,

    /// A context of cudarc's, or the context of a slice or a stream, is not the primary context of the device.
    #[error(
        "the context of cudarc is not the primary context of device {ordinal}\n\
         help: take that of `device.to_cudarc()` or `CudaContext::new`. Where there is no GPU or `RUMBA_DEVICE=soft` is set, start the \
         program with `cargo rumba check -- PROGRAM`, so that both libraries use one driver"
    )]
    OtherPrimary {
        /// The device.
        ordinal: u32,
    },

    /// The memory begins at an address that this runtime does not take.
    #[error(
        "the memory at {address:#x} does not begin at a multiple of {alignment} bytes\n\
         help: borrow a view of it with `rumba::interop::cudarc::scope`, or copy it in the library that made it"
    )]
    Misaligned {
        /// The address.
        address: u64,
        /// The multiple.
        alignment: usize,
    },

    /// A buffer whose memory a graph holds as well.
    #[error("cannot hand the buffer over to cudarc: a graph uses its memory\nhelp: drop the graph first")]
    Shared,

    /// A buffer whose memory is of a pool.
    #[error(
        "cannot hand the buffer over to cudarc: its memory is of a pool of this program\n\
         help: lend it with `rumba::interop::cudarc::scope`, or copy it to a buffer of `device.zeros`"
    )]
    NotAllocated,

    /// The tensor's description contradicts itself, or has parts that this runtime does not support.
    #[error("the tensor cannot be taken: {what}")]
    Invalid {
        /// What is wrong.
        what: String,
    },
}
