//! The driver's codes, and what each says of the context and of the code that was loaded.

use super::Code;
use super::sys::{self, CUresult as C};
use std::ffi::CStr;

impl Code {
    pub(crate) const NOT_READY: Code = Code(C::CUDA_ERROR_NOT_READY);
    pub(crate) const OUT_OF_MEMORY: Code = Code(C::CUDA_ERROR_OUT_OF_MEMORY);
    pub(crate) const UNKNOWN: Code = Code(C::CUDA_ERROR_UNKNOWN);
    pub(crate) const PEER_ACCESS_ALREADY_ENABLED: Code = Code(C::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    pub(crate) const INVALID_VALUE: Code = Code(C::CUDA_ERROR_INVALID_VALUE);
    pub(crate) const INVALID_DEVICE: Code = Code(C::CUDA_ERROR_INVALID_DEVICE);
    pub(crate) const NOT_FOUND: Code = Code(C::CUDA_ERROR_NOT_FOUND);
    pub(crate) const NOT_SUPPORTED: Code = Code(C::CUDA_ERROR_NOT_SUPPORTED);

    /// The number of the `CUresult`.
    pub(crate) fn number(self) -> u32 {
        self.0.0
    }

    /// Whether the driver refuses every further call in the context after this error.
    pub(crate) fn loses_context(self) -> bool {
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
        LOST.contains(&self.0)
    }

    /// Whether the error is about the code that was to be loaded.
    pub(crate) fn is_about_code(self) -> bool {
        const CODE: [C; 12] = [
            C::CUDA_ERROR_INVALID_VALUE,
            C::CUDA_ERROR_INVALID_IMAGE,
            C::CUDA_ERROR_NO_BINARY_FOR_GPU,
            C::CUDA_ERROR_INVALID_PTX,
            C::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
            C::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
            C::CUDA_ERROR_JIT_COMPILATION_DISABLED,
            C::CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC,
            C::CUDA_ERROR_INVALID_SOURCE,
            C::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
            C::CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
            // A failure of the compiler without a code of its own.
            C::CUDA_ERROR_UNKNOWN,
        ];
        CODE.contains(&self.0)
    }

    /// NVIDIA's name of it (`cuGetErrorName`), for example `CUDA_ERROR_INVALID_VALUE`.
    pub(crate) fn name(self) -> Option<String> {
        self.describe(sys::cuGetErrorName)
    }

    /// NVIDIA's description of it (`cuGetErrorString`).
    pub(crate) fn text(self) -> Option<String> {
        self.describe(sys::cuGetErrorString)
    }

    fn describe(self, describe: Describe) -> Option<String> {
        let mut text = std::ptr::null();
        // SAFETY: the driver refuses a number that it does not know; `text` is a valid place for a pointer.
        let result = unsafe { describe(self.0, &mut text) };
        if result != C::CUDA_SUCCESS || text.is_null() {
            return None;
        }
        // SAFETY: on success the driver has stored a pointer to a static, terminated string.
        Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}

type Describe = unsafe extern "C" fn(C, *mut *const std::ffi::c_char) -> C;
