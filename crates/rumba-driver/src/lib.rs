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
//! | variable | values |
//! |---|---|
//! | `RUMBA_DEVICE` | `auto` (default), `gpu`, `soft` |
//! | `RUMBA_CUDA_LIBRARY` | the path of NVIDIA's library, where the loader does not find `libcuda.so.1` |
//! | `RUMBA_SOFT_LIBRARY` | the path of the software device, where it is not in the user's folder for data (`~/.local/share/rumba/soft`) |
//! | `RUMBA_SOFT_DEVICES` | how many software devices there are: 1 (default) to 64, which share one machine |
//! | `RUMBA_SOFT_ARCH` | the compute capability that they have, `7.0` to `9.0` (default): its limits, and which PTX they take |
//! | `RUMBA_ENGINE` | what runs kernels on the software device: `auto` (default) interprets them until they are compiled, in the background; `compiled` compiles them before they run first; `interpreter` compiles none |
//! | `RUMBA_LLVM_LIBRARY` | the path of the `libLLVM` that compiles them, where no Rust toolchain of the user has one |
//! | `RUMBA_CACHE` | the folder for what can be made again, or `off`: compiled kernels, and measured choices of `rumba::linalg`; default is `~/.cache/rumba` |
//! | `RUMBA_LOG` | `off`, `reports`, `errors`, `calls`: what is written to standard error |
//! | `RUMBA_MEMORY` | MiB of memory of the software devices; default is half of the machine's |
//! | `RUMBA_WORKERS` | threads that run blocks on the software device; default is 0, one per core |
//! | `RUMBA_MULTIPROCESSORS` | multiprocessors that the software devices say they have, which programs size grids by: 132 (default), as an H100 has, or 1 to 1024 |
//! | `RUMBA_CHECK` | what the software device checks: names of [`check::Check`] such as `mem` (default) and `race`, separated by commas; `all` for those of a checked run, `none` for nothing. Findings go to standard error |
//! | `RUMBA_CHECK_JSON` | a file that findings are appended to, an object of JSON each |
//! | `RUMBA_CHECK_SEED` | a number that the order of blocks, warps and diverged lanes is taken from, so that a run can be repeated; kernels are then interpreted, whatever `RUMBA_ENGINE` says |
//! | `RUMBA_CHECK_ORDERS` | a number: each launch runs in all orders of its synchronising operations, in so many at most |
//! | `RUMBA_CHECK_ORDER` | one of these orders, as reports name it |
//! | `RUMBA_PROFILE_JSON` | a file that what each launch did is appended to, as `rumba_vm::Profile` in JSON |
//! | `RUMBA_TIMEOUT` | seconds that a launch may take on the software device (300), 0 for no limit |

pub mod check;
mod choice;
mod refusal;
mod slots;
mod soft;
mod trampoline;

pub use choice::{ChoiceError, DeviceKind, serve_as_library};
pub use rumba_interface::environment::{cache_folder, library_from_environment};
pub use rumba_interface::log;
pub use soft::SoftLibraryError;

/// What answers the driver calls of this process; the first call of any kind decides.
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
