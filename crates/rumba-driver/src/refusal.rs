//! The answers to calls in a process without a device, and to calls that the installed driver of NVIDIA's lacks.
//!
//! Without a device the calls that need none still work: result codes have names, and calls addresses.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use rumba_interface::calls::{self, CUDA_VERSION, Call, Found, NAMES};
use rumba_interface::code::{self, Code};
use rumba_interface::log::{self, Level};

use crate::choice::choice;
use crate::slots;

/// The function that serves a call in a process without a device; null for calls without such a function.
pub(crate) fn answer(call: usize) -> *mut c_void {
    const ANSWERS: [(Call, *mut c_void); 6] = [
        (Call::cuInit, init as *mut c_void),
        (Call::cuDriverGetVersion, version as *mut c_void),
        (Call::cuGetErrorName, error_name as *mut c_void),
        (Call::cuGetErrorString, error_text as *mut c_void),
        (Call::cuGetProcAddress, address as *mut c_void),
        (Call::cuGetProcAddress_v2, address_with_status as *mut c_void),
    ];
    let found = ANSWERS.iter().find(|(known, _)| *known as usize == call);
    found.map_or(ptr::null_mut(), |(_, function)| *function)
}

/// Says why a call is refused, and gives what answers it.
pub(crate) extern "C" fn refuse(call: usize) -> *mut c_void {
    if choice().driver.is_err() {
        say(NAMES[call], Code::NOT_INITIALIZED, "cuInit has not been called in this process, or failed");
        return not_initialized as *mut c_void;
    }
    let cause = format!("the installed NVIDIA driver has no {}", NAMES[call]);
    say(NAMES[call], Code::NOT_SUPPORTED, &cause);
    not_supported as *mut c_void
}

fn say(call: &str, code: Code, cause: &str) {
    log::say(Level::Errors, format_args!("{call} -> {}: {cause}", code.name()));
}

extern "C" fn not_initialized() -> Code {
    Code::NOT_INITIALIZED
}

extern "C" fn not_supported() -> Code {
    Code::NOT_SUPPORTED
}

extern "C" fn init(flags: c_uint) -> Code {
    if flags != 0 {
        return Code::INVALID_VALUE;
    }
    if let Err(error) = &choice().driver {
        say("cuInit", Code::NO_DEVICE, &format!("no device: {error}"));
    }
    Code::NO_DEVICE
}

extern "C" fn version(version: *mut c_int) -> Code {
    put(version, CUDA_VERSION)
}

extern "C" fn error_name(error: c_int, name: *mut *const c_char) -> Code {
    describe(code::describe(error).map(|(name, _)| name), name)
}

extern "C" fn error_text(error: c_int, text: *mut *const c_char) -> Code {
    describe(code::describe(error).map(|(_, text)| text), text)
}

fn describe(found: Option<&'static CStr>, into: *mut *const c_char) -> Code {
    match (put(into, found.map_or(ptr::null(), CStr::as_ptr)), found) {
        (Code::SUCCESS, None) => Code::INVALID_VALUE,
        (code, _) => code,
    }
}

extern "C" fn address(name: *const c_char, function: *mut *const c_void, version: c_int, flags: u64) -> Code {
    address_with_status(name, function, version, flags, ptr::null_mut())
}

extern "C" fn address_with_status(
    name: *const c_char,
    function: *mut *const c_void,
    version: c_int,
    flags: u64,
    status: *mut c_int,
) -> Code {
    /// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
    const PER_THREAD_DEFAULT_STREAM: u64 = 2;
    if name.is_null() || function.is_null() || flags > 2 {
        return Code::INVALID_VALUE;
    }
    // SAFETY: a name that is not null is NUL-terminated, says cuda.h.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let (result, found) = match calls::find(&name, version, flags & PER_THREAD_DEFAULT_STREAM != 0) {
        Found::At(call) => (0, slots::address(call)),
        Found::Nowhere => (1, ptr::null()),
        Found::Later => (2, ptr::null()),
    };
    put(function, found);
    if !status.is_null() {
        return put(status, result);
    }
    if result == 0 { Code::SUCCESS } else { Code::NOT_FOUND }
}

/// Stores a result that the caller must want.
fn put<T>(into: *mut T, value: T) -> Code {
    if into.is_null() {
        return Code::INVALID_VALUE;
    }
    // SAFETY: an output argument that is not null may be written; C may have aligned it less than Rust would.
    unsafe { into.write_unaligned(value) };
    Code::SUCCESS
}
