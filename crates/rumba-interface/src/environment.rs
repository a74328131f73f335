//! Files named by the environment: libraries to load, and the folder of caches.
//!
//! A program that runs with more rights than the user who started it (set-uid, file capabilities) must not load code that
//! this user names. The loader ignores `LD_LIBRARY_PATH` there, and so do we.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that an environment variable names as a library to load. Nothing if the variable is empty, or if the program
/// has rights that the user who started it lacks, as `secure_getenv` decides it.
///
/// # Examples
///
/// ```
/// assert_eq!(rumba_interface::environment::library_from_environment("NO_SUCH_VARIABLE"), None);
/// ```
pub fn library_from_environment(variable: &str) -> Option<OsString> {
    if is_privileged() {
        return None;
    }
    std::env::var_os(variable).filter(|path| !path.is_empty())
}

/// Whether the kernel started the program in its secure mode.
pub fn is_privileged() -> bool {
    // SAFETY: the call reads a value that the kernel passed to the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Where everything is kept that can be made again: choices of kernels that were measured, compiled code. `RUMBA_CACHE` names the
/// folder, or is `off`; otherwise it is `rumba` in the user's folder for caches (`XDG_CACHE_HOME`, else `~/.cache`). Nothing
/// for a program that has rights which its user lacks.
///
/// # Examples
///
/// ```standalone_crate
/// let folder = std::env::temp_dir().join("kernels");
/// // SAFETY: there is no other thread.
/// unsafe { std::env::set_var("RUMBA_CACHE", &folder) };
/// assert_eq!(rumba_interface::environment::cache_folder(), Some(folder));
/// // SAFETY: as above.
/// unsafe { std::env::set_var("RUMBA_CACHE", "off") };
/// assert_eq!(rumba_interface::environment::cache_folder(), None);
/// ```
pub fn cache_folder() -> Option<PathBuf> {
    if is_privileged() {
        return None;
    }
    let set = |variable| std::env::var_os(variable).filter(|text: &OsString| !text.is_empty());
    match set("RUMBA_CACHE") {
        Some(text) if text == "off" => None,
        Some(folder) => std::path::absolute(folder).ok(),
        None => {
            let named = set("XDG_CACHE_HOME").filter(|folder| Path::new(folder).is_absolute());
            let caches = named.map(PathBuf::from);
            let caches = caches.or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
            Some(caches.join("rumba"))
        }
    }
}
