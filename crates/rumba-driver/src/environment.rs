//! What the environment may say: libraries to load.
//!
//! A program that runs with more rights than the user who started it (set-uid, file capabilities) must not load code that
//! this user names. The loader ignores `LD_LIBRARY_PATH` there, and so do we.

use std::ffi::OsString;

/// The file that an environment variable names as a library to load. Nothing if the variable is empty, or if the program
/// has rights that the user who started it lacks, as `secure_getenv` decides it.
///
/// # Examples
///
/// ```
/// assert_eq!(rumba_driver::library_from_environment("NO_SUCH_VARIABLE"), None);
/// ```
pub fn library_from_environment(variable: &str) -> Option<OsString> {
    if is_privileged() {
        return None;
    }
    std::env::var_os(variable).filter(|path| !path.is_empty())
}

/// Whether the kernel started the program in its secure mode.
pub(crate) fn is_privileged() -> bool {
    // SAFETY: the call reads a value that the kernel passed to the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
