//! Errors that come from the driver: a refused call, and a kernel that failed.
//!
//! Codes are looked up in the driver itself, so that names and texts are NVIDIA's.

use crate::base::driver::is_forked;
use crate::cuda::Code;
use crate::cuda::sys::CUresult;

/// A call that the driver refused, with NVIDIA's name and text for the reason.
#[derive(Clone, thiserror::Error)]
#[error("could not {operation}: {text} ({name}, {code}){}", help(*.code))]
pub struct DriverError {
    /// The operation, as the end of "could not …".
    pub operation: String,
    /// The number of the `CUresult`.
    pub code: u32,
    /// NVIDIA's name of it, for example `CUDA_ERROR_INVALID_VALUE`.
    pub name: String,
    /// NVIDIA's description of it.
    pub text: String,
}

/// A kernel that failed on the device. Its context is lost.
#[derive(Clone, thiserror::Error)]
pub struct Fault {
    /// The driver's error, and the operation that returned it. Launches are asynchronous, so
    /// the operation may be a later call than the launch.
    pub error: DriverError,
    /// The kernel that was launched last before the driver said so.
    pub kernel: Option<&'static str>,
    /// The device's own report where it writes one: kernel, block, thread, address, source line.
    pub report: Option<String>,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DriverError { operation, code, name, text } = &self.error;
        match &self.report {
            Some(report) => write!(f, "{}\nThe driver calls it: {text} ({name}, {code})", report.trim_end())?,
            None => {
                write!(f, "a kernel failed: {text} ({name}, {code}), reported when asked to {operation}")?;
                if let Some(kernel) = self.kernel {
                    write!(f, "; launched last: `{kernel}`")?;
                }
                write!(f, "\nhelp: with RUMBA_DEVICE=soft the same kernel is stopped at the line that is at fault")?;
            }
        }
        write!(
            f,
            "\nThe context is lost. `device.reset()` starts a new one where the driver can; modules, buffers and streams \
             must be made anew."
        )
    }
}

impl DriverError {
    /// Looks the error up in the driver.
    pub(crate) fn new(operation: String, code: Code) -> DriverError {
        let name = code.name().unwrap_or_else(|| "an error without a name".to_owned());
        let text = code.text().unwrap_or_else(|| "no description".to_owned());
        DriverError { operation, code: code.number(), name, text }
    }

    pub(crate) fn code(&self) -> Code {
        Code(CUresult(self.code))
    }
}

/// Advice for the most frequent errors.
fn help(code: u32) -> &'static str {
    match code {
        3 if is_forked() => {
            "\nhelp: this process was forked after the first call of the driver, which serves only the process that started it; start \
             processes with `spawn` (in Python, `multiprocessing.set_start_method(\"spawn\")`), or fork before the first call"
        }
        3 => "\nhelp: the driver was called before `Device::new`",
        200 | 209 => {
            "\nhelp: the code was built for another architecture than this device's; load PTX instead of binaries"
        }
        201 => "\nhelp: the thread's current context was changed by other code between two calls",
        218 => "\nhelp: the PTX is not valid for this driver; `cargo xtask build-ptx` builds it anew",
        222 => {
            "\nhelp: the PTX is of a newer version than this driver knows; update the driver, or build for an older \
             architecture: `cargo xtask build-ptx --arch sm_75`"
        }
        701 => {
            "\nhelp: the launch needs more registers or shared memory than a multiprocessor has; use a smaller block"
        }
        801 => "\nhelp: this device does not serve the call; RUMBA_LOG=errors shows which one",
        _ => "",
    }
}
