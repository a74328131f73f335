//! A library in a namespace of its own (`dlmopen(3)`), whose destructors never run.
//!
//! The constructors of LLVM's variables register destructors that `exit` runs, last first: before any function that was registered
//! earlier and could wait for a thread in LLVM, and even while other constructors still run. In a namespace of its own the library
//! has a C library of its own, and registers them there, where `exit` does not look. What is left are the functions in the
//! library's finalisation array, which the loader calls at the very end: the array is made empty.

use std::ffi::c_void;
use std::path::Path;

use libloading::Library;

use crate::LoadError;

/// Prepares a thread that the program's C library has made for the library's own one, which knows nothing of it: sets the tables
/// that `isalpha` reads. Nothing where the library is not isolated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Entrance(Option<UseLocale>);

/// `uselocale(3)`.
type UseLocale = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

impl Entrance {
    /// To be called by each thread before it is in the library.
    pub(crate) fn enter(self) {
        /// `LC_GLOBAL_LOCALE`.
        const GLOBAL: *mut c_void = std::ptr::without_provenance_mut(usize::MAX);
        if let Some(use_locale) = self.0 {
            // SAFETY: the function of `locale.h`, with the locale that threads begin with.
            unsafe { use_locale(GLOBAL) };
        }
    }
}

#[cfg(not(target_env = "gnu"))]
pub(crate) fn open(_: &Path) -> Result<(Library, Entrance), LoadError> {
    Err(LoadError::NoNamespaces)
}

#[cfg(target_env = "gnu")]
pub(crate) fn open(path: &Path) -> Result<(Library, Entrance), LoadError> {
    use std::ffi::{CStr, CString};
    use std::os::unix::ffi::OsStrExt;

    if !has_namespaces() {
        return Err(LoadError::NoNamespaces);
    }
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| LoadError::Refused(error.to_string()))?;
    // SAFETY: the path names a libLLVM of the user's; its initialisers register targets and options and have no preconditions.
    let handle = unsafe { libc::dlmopen(libc::LM_ID_NEWLM, name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: the loader's message is this thread's until its next call of the loader.
        let message = unsafe { libc::dlerror().as_ref().map(|message| CStr::from_ptr(message)) };
        let message = message.map_or_else(String::new, |message| message.to_string_lossy().into_owned());
        return Err(LoadError::Refused(message));
    }
    // SAFETY: the handle is that of a loaded library, and is used up here.
    unsafe {
        if !skip_destructors(handle) {
            return Err(LoadError::Refused("its destructors cannot be turned off".to_owned()));
        }
        let library: Library = libloading::os::unix::Library::from_raw(handle).into();
        // The function of the C library that the loaded library depends on.
        let use_locale = library.get::<UseLocale>(b"uselocale\0").map_err(LoadError::Library)?;
        let entrance = Entrance(Some(*use_locale));
        Ok((library, entrance))
    }
}

/// Whether threads that one C library has made may run in another: older ones set up each thread for themselves (release notes of
/// glibc 2.34, which moved libpthread into libc).
#[cfg(target_env = "gnu")]
fn has_namespaces() -> bool {
    // SAFETY: the version is a constant of the C library.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    let mut numbers = version.to_bytes().split(|byte| *byte == b'.').map(|digits| {
        let digits = std::str::from_utf8(digits).ok()?;
        digits.parse::<u32>().ok()
    });
    matches!((numbers.next().flatten(), numbers.next().flatten()), (Some(major), Some(minor)) if (major, minor) >= (2, 34))
}

/// Makes a library's finalization array empty. Returns whether it succeeded.
///
/// # Safety
/// The handle is that of a loaded library.
#[cfg(target_env = "gnu")]
unsafe fn skip_destructors(handle: *mut c_void) -> bool {
    use std::ffi::c_char;
    use std::ptr::null_mut;

    /// `Elf64_Dyn`.
    #[repr(C)]
    struct Dynamic {
        tag: i64,
        value: u64,
    }

    /// The public part of the loader's `struct link_map` (`link.h`).
    #[repr(C)]
    struct LinkMap {
        address: u64,
        name: *const c_char,
        dynamic: *mut Dynamic,
    }

    const DT_NULL: i64 = 0;
    const DT_FINI_ARRAYSZ: i64 = 28;

    let mut map: *mut LinkMap = null_mut();
    // SAFETY: the request writes one pointer.
    let status = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    if status != 0 || map.is_null() {
        return false;
    }
    // SAFETY: the loader's description of the library, whose dynamic section ends with a null entry.
    unsafe {
        let mut entry = (*map).dynamic;
        while (*entry).tag != DT_NULL {
            if (*entry).tag == DT_FINI_ARRAYSZ {
                let value = &raw mut (*entry).value;
                let bytes = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
                let page = (value as usize & !(bytes - 1)) as *mut c_void;
                // The loader has made it read-only, and it becomes so again.
                if libc::mprotect(page, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                    return false;
                }
                value.write(0);
                libc::mprotect(page, bytes, libc::PROT_READ);
                return true;
            }
            entry = entry.add(1);
        }
    }
    // It has none.
    true
}
