//! The messages of the driver's own compiler and linker of PTX.

use crate::cuda::sys;
use std::ffi::{CStr, c_void};

/// Where the compiler or the linker writes its errors.
pub(crate) struct CompilerLog(Vec<u8>);

impl CompilerLog {
    /// An empty one, for 16 KiB.
    pub(crate) fn new() -> CompilerLog {
        CompilerLog(vec![0; 16 << 10])
    }

    /// The options, and their values, that make a call write its errors here. The log has to outlive the call.
    pub(crate) fn options(&mut self) -> ([sys::CUjit_option; 2], [*mut c_void; 2]) {
        (
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES],
            [self.0.as_mut_ptr().cast(), std::ptr::without_provenance_mut(self.0.len())],
        )
    }

    /// The compiler's output, perhaps empty.
    pub(crate) fn text(&self) -> String {
        CStr::from_bytes_until_nul(&self.0).map_or_else(|_| String::new(), |text| text.to_string_lossy().into())
    }
}
