//! The interface between `rumba-driver`, which programs link, and `rumba-soft`, the software device behind it.
//!
//! The device is a library of its own that is loaded when a program runs, or it is linked into the program. Either way the
//! two sides meet in [`Device`], a table of C functions: the driver calls by their names, and what NVIDIA's driver has
//! no calls for. Here are that table and the words that both sides use: the names of the driver calls, result codes,
//! findings, and the log. Nothing here runs a kernel.

pub mod calls;
pub mod check;
pub mod code;
mod device;
pub mod environment;
pub mod errors;
pub mod log;
#[doc(hidden)]
pub mod trampoline;
mod wire;

pub use device::{
    Bytes, CAPABILITIES, DEFAULT_CAPABILITY, Device, ENTRY, Entry, MOST_DEVICES, RELEASE, Settings, Sink, VERSION,
    gather,
};
pub use wire::Wire;
