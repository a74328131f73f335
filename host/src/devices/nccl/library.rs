//! NCCL as it is loaded: its functions, by the signatures of `nccl.h`, and its answers as errors.
//!
//! The library stays loaded until the process ends. The caller observes the rules about when functions may be called.

use crate::cuda::sys::{self, CUstream};
use crate::devices::nccl::processes::Processes;
use crate::devices::nccl::{Element, NcclError, ReduceOp};
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// One device's place in a communicator: `ncclComm_t`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Comm(pub(super) *mut c_void);

// SAFETY: NCCL's handles may be used from any thread, one at a time; our calls hold the locks of all devices.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

/// The oldest version with everything that is called here, as `ncclGetVersion` counts.
const OLDEST: c_int = 21_000;

/// `cuLaunchHostFunc`.
type LaunchHostFunc = unsafe extern "C" fn(CUstream, sys::CUhostFn, *mut c_void) -> sys::CUresult;

/// The export of a stand-in for NCCL that works with the memory of the software device, as tests have one. The function
/// receives the driver's function by which the stand-in puts its work on a stream.
const ON_SOFTWARE: &[u8] = b"rumba_nccl_on_software";

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($parameter:ty),*) -> $result:ty;)*) => {
        /// The library's functions.
        pub(super) struct Library {
            $($field: unsafe extern "C" fn($($parameter),*) -> $result,)*
            /// Since 2.13.
            last_error: Option<unsafe extern "C" fn(Comm) -> *const c_char>,
            /// Since 2.14.
            pub(super) processes: Option<Processes>,
            /// As `ncclGetVersion` counts.
            pub(super) number: c_int,
            /// Whether it is a stand-in that works with the memory of the software device.
            pub(super) on_software: bool,
        }

        impl Library {
            fn functions(loaded: &Loaded, library: &str) -> Result<Library, NcclError> {
                Ok(Library {
                    // SAFETY: here and below: the signature is that of nccl.h.
                    $($field: *unsafe { loaded.get($name.as_bytes()) }.map_err(|_| NcclError::NoFunction {
                        library: library.to_owned(),
                        function: $name.to_owned(),
                    })?,)*
                    // SAFETY: as above.
                    last_error: unsafe { loaded.get(b"ncclGetLastError") }.ok().map(|found| *found),
                    processes: Processes::of(loaded),
                    number: 0,
                    on_software: false,
                })
            }
        }
    };
}

functions! {
    version = "ncclGetVersion": fn(*mut c_int) -> c_int;
    error_string = "ncclGetErrorString": fn(c_int) -> *const c_char;
    init_all = "ncclCommInitAll": fn(*mut Comm, c_int, *const c_int) -> c_int;
    destroy = "ncclCommDestroy": fn(Comm) -> c_int;
    group_start = "ncclGroupStart": fn() -> c_int;
    group_end = "ncclGroupEnd": fn() -> c_int;
    all_reduce = "ncclAllReduce": fn(u64, u64, usize, c_int, c_int, Comm, CUstream) -> c_int;
    broadcast = "ncclBroadcast": fn(u64, u64, usize, c_int, c_int, Comm, CUstream) -> c_int;
    all_gather = "ncclAllGather": fn(u64, u64, usize, c_int, Comm, CUstream) -> c_int;
    reduce_scatter = "ncclReduceScatter": fn(u64, u64, usize, c_int, c_int, Comm, CUstream) -> c_int;
    send = "ncclSend": fn(u64, usize, c_int, c_int, Comm, CUstream) -> c_int;
    receive = "ncclRecv": fn(u64, usize, c_int, c_int, Comm, CUstream) -> c_int;
}

/// The library inside a group of calls.
pub(super) struct Calls<'l> {
    pub(super) library: &'l Library,
    pub(super) operation: &'static str,
}

/// `ncclInProgress`: the state of a communicator with a call in progress.
const IN_PROGRESS: c_int = 7;

impl Library {
    /// The library of this process, loaded at the first call.
    pub(super) fn get() -> Result<&'static Library, NcclError> {
        static LIBRARY: OnceLock<Library> = OnceLock::new();
        if let Some(library) = LIBRARY.get() {
            return Ok(library);
        }
        let named = rumba_driver::library_from_environment("RUMBA_NCCL_LIBRARY");
        let library = Library::load(&named.unwrap_or_else(|| OsString::from("libnccl.so.2")))?;
        Ok(LIBRARY.get_or_init(|| library))
    }

    fn load(path: &OsStr) -> Result<Library, NcclError> {
        let name = path.to_string_lossy().into_owned();
        // SAFETY: loading runs the library's initialisers. It is NCCL by name, or a file that the user named for that
        // purpose.
        let loaded =
            unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| NcclError::Missing {
                library: name.clone(),
                cause: std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string),
            })?;
        let mut library = Library::functions(&loaded, &name)?;
        // SAFETY: only a stand-in has this function, which is declared so.
        if let Ok(begin) = unsafe { loaded.get::<unsafe extern "C" fn(LaunchHostFunc)>(ON_SOFTWARE) } {
            // SAFETY: as above; the driver's function stays as long as the process.
            unsafe { begin(sys::cuLaunchHostFunc) };
            library.on_software = true;
        }
        // Never unloads the library, which may have started threads.
        std::mem::forget(loaded);
        let mut version = 0;
        // SAFETY: `version` is a valid place.
        let answered = unsafe { (library.version)(&mut version) };
        library.check("tell its version", None, answered)?;
        if version < OLDEST {
            return Err(NcclError::TooOld { library: name, version: parts(version) });
        }
        library.number = version;
        Ok(library)
    }

    /// A communicator of these devices.
    pub(super) fn join(&self, ordinals: &[u32]) -> Result<Vec<Comm>, NcclError> {
        let ordinals: Vec<c_int> = ordinals.iter().map(|&ordinal| ordinal as c_int).collect();
        let mut comms = vec![Comm(std::ptr::null_mut()); ordinals.len()];
        // SAFETY: both arrays have the length that is passed.
        let joined = unsafe { (self.init_all)(comms.as_mut_ptr(), ordinals.len() as c_int, ordinals.as_ptr()) };
        self.check("join the devices", None, joined)?;
        Ok(comms)
    }

    /// Ends what [`Library::join`] began.
    ///
    /// # Safety
    /// Once for each, in a living context.
    pub(super) unsafe fn leave(&self, comm: Comm) {
        // SAFETY: the caller's promise. An error has no consequence but a leak.
        let _ = unsafe { (self.destroy)(comm) };
    }

    /// Makes calls that NCCL starts together.
    pub(super) fn group(
        &self,
        operation: &'static str,
        calls: impl FnOnce(&Calls<'_>) -> Result<(), NcclError>,
    ) -> Result<(), NcclError> {
        // SAFETY: a start and an end belong together, also where a call between them failed.
        let started = unsafe { (self.group_start)() };
        self.check(operation, None, started)?;
        let called = calls(&Calls { library: self, operation });
        // SAFETY: as above.
        let ended = unsafe { (self.group_end)() };
        called.and_then(|()| self.check(operation, None, ended))
    }

    pub(super) fn check(&self, operation: &'static str, comm: Option<Comm>, answer: c_int) -> Result<(), NcclError> {
        if answer == 0 || answer == IN_PROGRESS {
            return Ok(());
        }
        // SAFETY: NCCL gives static, terminated texts for every number, and its last error's until the next one.
        let (text, detail) = unsafe {
            let last = self.last_error.map(|last| last(comm.unwrap_or(Comm(std::ptr::null_mut()))));
            (read((self.error_string)(answer)), last.and_then(|last| read(last)))
        };
        Err(NcclError::Refused {
            operation,
            text: text.unwrap_or_else(|| format!("its answer is {answer}")),
            detail: detail.filter(|detail| !detail.is_empty()),
        })
    }
}

/// # Safety
///
/// Each takes device addresses of as many elements as is said, on the device of its `comm`, and that device's stream; they
/// stay valid and untouched by others until the stream has done the work. A group has the calls of all devices.
impl Calls<'_> {
    pub(super) unsafe fn all_reduce<T: Element>(
        &self,
        source: u64,
        target: u64,
        elements: usize,
        op: ReduceOp,
        comm: Comm,
        stream: CUstream,
    ) -> Result<(), NcclError> {
        // SAFETY: the caller's promise, here and below.
        let answer = unsafe { (self.library.all_reduce)(source, target, elements, T::TYPE, op.number(), comm, stream) };
        self.library.check(self.operation, Some(comm), answer)
    }

    pub(super) unsafe fn broadcast<T: Element>(
        &self,
        buffer: u64,
        elements: usize,
        root: usize,
        comm: Comm,
        stream: CUstream,
    ) -> Result<(), NcclError> {
        // SAFETY: see above.
        let answer =
            unsafe { (self.library.broadcast)(buffer, buffer, elements, T::TYPE, root as c_int, comm, stream) };
        self.library.check(self.operation, Some(comm), answer)
    }

    pub(super) unsafe fn all_gather<T: Element>(
        &self,
        part: u64,
        whole: u64,
        elements: usize,
        comm: Comm,
        stream: CUstream,
    ) -> Result<(), NcclError> {
        // SAFETY: see above.
        let answer = unsafe { (self.library.all_gather)(part, whole, elements, T::TYPE, comm, stream) };
        self.library.check(self.operation, Some(comm), answer)
    }

    pub(super) unsafe fn reduce_scatter<T: Element>(
        &self,
        whole: u64,
        part: u64,
        elements: usize,
        op: ReduceOp,
        comm: Comm,
        stream: CUstream,
    ) -> Result<(), NcclError> {
        // SAFETY: see above.
        let answer =
            unsafe { (self.library.reduce_scatter)(whole, part, elements, T::TYPE, op.number(), comm, stream) };
        self.library.check(self.operation, Some(comm), answer)
    }

    pub(super) unsafe fn send<T: Element>(
        &self,
        source: u64,
        elements: usize,
        to: usize,
        comm: Comm,
        stream: CUstream,
    ) -> Result<(), NcclError> {
        // SAFETY: see above.
        let answer = unsafe { (self.library.send)(source, elements, T::TYPE, to as c_int, comm, stream) };
        self.library.check(self.operation, Some(comm), answer)
    }

    pub(super) unsafe fn receive<T: Element>(
        &self,
        target: u64,
        elements: usize,
        from: usize,
        comm: Comm,
        stream: CUstream,
    ) -> Result<(), NcclError> {
        // SAFETY: see above.
        let answer = unsafe { (self.library.receive)(target, elements, T::TYPE, from as c_int, comm, stream) };
        self.library.check(self.operation, Some(comm), answer)
    }
}

/// # Safety
/// `text` is null or terminated.
unsafe fn read(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Major, minor and patch, as `ncclGetVersion` counts: 2.8 and older with one digit less for each.
pub(super) fn parts(version: c_int) -> (u32, u32, u32) {
    let version = u32::try_from(version).unwrap_or(0);
    let thousands = if version < 10_000 { 1000 } else { 10_000 };
    (version / thousands, version % thousands / 100, version % 100)
}

#[cfg(test)]
mod tests {
    use super::{Library, NcclError, parts};
    use std::ffi::OsStr;

    fn error(path: &str) -> NcclError {
        match Library::load(OsStr::new(path)) {
            Err(error) => error,
            Ok(_) => panic!("{path} is no NCCL"),
        }
    }

    #[test]
    fn a_missing_library_says_what_was_looked_for_and_what_to_do() {
        let text = error("/no/such/libnccl.so.2").to_string();
        for part in ["/no/such/libnccl.so.2", "No such file", "RUMBA_NCCL_LIBRARY"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn another_library_is_told_apart() {
        let text = error("libc.so.6").to_string();
        assert!(text.contains("libc.so.6") && text.contains("`ncclGetVersion`"), "{text}");
    }

    #[test]
    fn versions_are_read_as_nccl_writes_them() {
        assert_eq!((parts(2_708), parts(21_003), parts(22_809)), ((2, 7, 8), (2, 10, 3), (2, 28, 9)));
    }
}
