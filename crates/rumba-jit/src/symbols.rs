//! Functions that LLVM calls by itself: it makes calls of them from instructions that the processor lacks, and from loops.

use std::ffi::{c_double, c_float};

unsafe extern "C" {
    fn fma(a: c_double, b: c_double, c: c_double) -> c_double;
    fn fmaf(a: c_float, b: c_float, c: c_float) -> c_float;
    fn fmod(a: c_double, b: c_double) -> c_double;
    fn fmodf(a: c_float, b: c_float) -> c_float;
}

/// The address of a function by its name in C.
pub(crate) fn address(name: &str) -> Option<usize> {
    Some(match name {
        "memcpy" => libc::memcpy as *const () as usize,
        "memmove" => libc::memmove as *const () as usize,
        "memset" => libc::memset as *const () as usize,
        "memcmp" | "bcmp" => libc::memcmp as *const () as usize,
        "fma" => fma as *const () as usize,
        "fmaf" => fmaf as *const () as usize,
        "fmod" => fmod as *const () as usize,
        "fmodf" => fmodf as *const () as usize,
        _ => return None,
    })
}
