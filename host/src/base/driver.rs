//! The seam to `rumba-driver`: it links the `cu*` symbols and says what no CUDA call can say.
//!
//! Everything else in this crate goes through [`crate::cuda`] and does not know which driver answers.

use crate::base::error::{DriverError, Error, Result, answer};
use crate::cuda::sys;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Starts the driver, once per process.
///
/// # Errors
/// [`Error::NoDevice`] if the device that `RUMBA_DEVICE` asks for is missing.
pub(crate) fn start() -> Result<()> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let started = STARTED.get_or_init(|| {
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        rumba_driver::device_kind().map_err(|error| error.to_string())?;
        // SAFETY: the call has no pointers.
        answer(unsafe { sys::cuInit(0) }).map_err(|code| {
            let cause = last_report().unwrap_or_else(|| {
                let DriverError { code, name, text, .. } = DriverError::new(String::new(), code);
                format!("{text} ({name}, {code})")
            });
            format!("the CUDA driver did not start: {cause}")
        })
    });
    started.clone().map_err(Error::NoDevice)
}

/// The process that has started the driver; 0 before.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether the process was forked from the one that has started the driver, so that no driver serves it.
pub(crate) fn is_forked() -> bool {
    ![0, std::process::id()].contains(&PROCESS.load(Ordering::Relaxed))
}

/// The file or folder that a variable names. Nothing for a program that has rights which its user lacks.
pub(crate) fn path_from_environment(variable: &str) -> Option<PathBuf> {
    rumba_driver::library_from_environment(variable).map(PathBuf::from)
}

/// Whether the software device answers. Its attributes say what it allows, and nothing of its speed.
pub(crate) fn is_software() -> bool {
    matches!(rumba_driver::device_kind(), Ok(rumba_driver::DeviceKind::Software))
}

/// See [`rumba_driver::software_workers`].
pub(crate) use rumba_driver::software_workers;

/// Runs what allocates memory for a line of the program; see [`rumba_driver::check::allocating`].
pub(crate) use rumba_driver::check::allocating;

/// Says something if `RUMBA_LOG` asks for what the driver chose and refused.
pub(crate) fn say(message: std::fmt::Arguments<'_>) {
    rumba_driver::log::say(rumba_driver::log::Level::Errors, message);
}

/// The full report of the last load or launch that failed, where the device writes one.
pub(crate) fn last_report() -> Option<String> {
    rumba_driver::last_report()
}
