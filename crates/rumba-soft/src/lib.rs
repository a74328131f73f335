//! The software CUDA device: the calls of the driver API, served from the machine of `rumba-vm`.
//!
//! Programs do not link this crate. They link `rumba-driver`, which gets the calls by [`device`]: from the library
//! `librumba_soft_device.so` (in `library`), which has nothing but that function, or from this crate itself where it is
//! linked in. The crate holds no PTX semantics, which are in `rumba-vm`, and exports no symbol.
//!
//! The documentation of `rumba-driver` lists the environment variables of the device.

mod abi;
#[expect(non_snake_case, reason = "these are NVIDIA's names")]
mod api;
mod check;
mod error;
mod findings;
mod names;
mod soft;
mod table;
mod targets;

pub(crate) use rumba_interface::{code, log};

pub use table::device;
