//! Errors that come from the driver: a refused call, and a kernel that failed.
//!
//! Codes are looked up in the driver itself, so that names and texts are NVIDIA's.

use cust::error::CudaError;
use cust::sys;
use std::ffi::CStr;

use crate::base::driver::is_forked;

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

/// A code of the driver other than success, from cust or from a call of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(u32);

impl From<CudaError> for Code {
    fn from(error: CudaError) -> Code {
        Code(error as u32)
    }
}

/// The answer of a call that was made without cust.
pub(crate) fn answer(result: sys::CUresult) -> Result<(), Code> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(Code(error as u32)),
    }
}

impl Code {
    pub(crate) const NOT_READY: Code = Code(sys::CUresult::CUDA_ERROR_NOT_READY as u32);
    pub(crate) const OUT_OF_MEMORY: Code = Code(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32);
    pub(crate) const UNKNOWN: Code = Code(sys::CUresult::CUDA_ERROR_UNKNOWN as u32);
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: Code =
        Code(sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED as u32);
    pub(crate) const INVALID_VALUE: Code = Code(sys::CUresult::CUDA_ERROR_INVALID_VALUE as u32);
    pub(crate) const INVALID_DEVICE: Code = Code(sys::CUresult::CUDA_ERROR_INVALID_DEVICE as u32);
    pub(crate) const NOT_FOUND: Code = Code(sys::CUresult::CUDA_ERROR_NOT_FOUND as u32);
    pub(crate) const NOT_SUPPORTED: Code = Code(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED as u32);
    /// The highest of the driver's codes. cust's additions to the list lie above it.
    const HIGHEST: u32 = sys::CUresult::CUDA_ERROR_UNKNOWN as u32;

    /// The answer behind a `CUresult` that came as a number.
    pub(crate) fn from_number(number: u32) -> Result<(), Code> {
        match number {
            0 => Ok(()),
            number => Err(Code(number)),
        }
    }

    /// Whether the driver refuses every further call in the context after this error.
    pub(crate) fn loses_context(self) -> bool {
        use sys::cudaError_enum as C;
        const LOST: [C; 11] = [
            C::CUDA_ERROR_ILLEGAL_ADDRESS,
            C::CUDA_ERROR_LAUNCH_TIMEOUT,
            C::CUDA_ERROR_ASSERT,
            C::CUDA_ERROR_HARDWARE_STACK_ERROR,
            C::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            C::CUDA_ERROR_MISALIGNED_ADDRESS,
            C::CUDA_ERROR_INVALID_ADDRESS_SPACE,
            C::CUDA_ERROR_INVALID_PC,
            C::CUDA_ERROR_LAUNCH_FAILED,
            C::CUDA_ERROR_ECC_UNCORRECTABLE,
            C::CUDA_ERROR_NVLINK_UNCORRECTABLE,
        ];
        LOST.iter().any(|lost| *lost as u32 == self.0)
    }

    /// Whether the error is about the code that was to be loaded.
    pub(crate) fn is_about_code(self) -> bool {
        use sys::cudaError_enum as C;
        const CODE: [C; 9] = [
            C::CUDA_ERROR_INVALID_VALUE,
            C::CUDA_ERROR_INVALID_IMAGE,
            C::CUDA_ERROR_NO_BINARY_FOR_GPU,
            C::CUDA_ERROR_INVALID_PTX,
            C::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            C::CUDA_ERROR_INVALID_SOURCE,
            C::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
            C::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
            // The result of cust for an unknown code, such as the code of an unsupported PTX version.
            C::CUDA_ERROR_UNKNOWN,
        ];
        CODE.iter().any(|code| *code as u32 == self.0)
    }

    fn describe(self, describe: Describe) -> Option<String> {
        if self.0 > Code::HIGHEST {
            return None;
        }
        let mut text = std::ptr::null();
        // SAFETY: a code up to HIGHEST was made from a value of CUresult, or of CudaError, all of
        // whose values up to there CUresult has too; `text` is a valid place for a pointer.
        let result = unsafe { describe(std::mem::transmute::<u32, sys::CUresult>(self.0), &mut text) };
        if result != sys::CUresult::CUDA_SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: on success the driver has stored a pointer to a static, terminated string.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

type Describe = unsafe extern "C" fn(sys::CUresult, *mut *const std::ffi::c_char) -> sys::CUresult;

impl DriverError {
    /// Looks the error up in the driver.
    pub(crate) fn new(operation: String, code: impl Into<Code>) -> DriverError {
        let code = code.into();
        let name = code.describe(sys::cuGetErrorName).unwrap_or_else(|| "an error without a name".to_owned());
        let text = code.describe(sys::cuGetErrorString).unwrap_or_else(|| "no description".to_owned());
        DriverError { operation, code: code.0, name, text }
    }

    pub(crate) fn code(&self) -> Code {
        Code(self.code)
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
        999 => "\nhelp: the driver gave a code that CUDA 11 did not have; its log (RUMBA_LOG=errors) may say more",
        _ => "",
    }
}
