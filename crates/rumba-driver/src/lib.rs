//! The CUDA driver API for every machine: NVIDIA's driver where there is one, a software device where there
//! is none.
//!
//! Linking this crate defines every `cu…` symbol of NVIDIA's `libcuda.so.1`. The first call decides for the
//! process (see [`device_kind`]); after that a call costs one jump more than NVIDIA's own, or runs on the
//! software device in this process. A program so linked starts on machines without any NVIDIA software.
//!
//! The software device is a library too, `librumba_soft_device.so`, which `cargo xtask setup` builds; it is loaded when it is
//! needed. With the feature `linked` the program has the device in itself.
//!
//! A crate that only calls `cu…` functions must name this one, or the linker never sees it:
//!
//! ```
//! use rumba_driver as _;
//! ```
//!
//! The crate holds none of the calls, which `rumba-soft` serves, and no convenience for callers, which is in `rumba`.
//!
//! # Environment
//!
#![doc = include_str!("../variables.md")]

pub mod check;
mod choice;
#[doc(hidden)]
pub mod fault;
mod refusal;
mod slots;
mod soft;
mod trampoline;

pub use choice::{ChoiceError, DeviceKind, serve_as_library};
pub use rumba_interface::environment::{cache_folder, library_from_environment};
pub use rumba_interface::log;
#[doc(hidden)]
pub use rumba_interface::{code, errors};
pub use soft::SoftLibraryError;

/// The kind of device that serves the driver calls of this process; the first call of any kind decides.
///
/// # Errors
///
/// `RUMBA_DEVICE` names no device, or asks for a GPU that is not there, or the software device cannot be loaded. The error
/// says what was looked for and what to do; `cuInit` returns `CUDA_ERROR_NO_DEVICE` meanwhile.
pub fn device_kind() -> Result<DeviceKind, ChoiceError> {
    choice::choice().kind()
}

/// Threads that run blocks on the software device: what `RUMBA_WORKERS` asks for, or one for each core. So many of its
/// multiprocessors work at the same time.
pub fn software_workers() -> usize {
    let asked = std::env::var("RUMBA_WORKERS").ok().and_then(|text| text.parse().ok());
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.filter(|workers| *workers > 0).unwrap_or_else(cores)
}

/// The full report of the last module that could not be loaded, or of the last kernel that failed, in any
/// thread. `None` if there was none, and always with NVIDIA's driver, which tells no more than a code.
pub fn last_report() -> Option<String> {
    let choice::Driver::Software(device) = choice::made()?.driver.as_ref().ok()? else {
        return None;
    };
    let report = rumba_interface::gather(|report| (device.last_report)(report)).pop()?;
    Some(String::from_utf8_lossy(&report).into_owned())
}
