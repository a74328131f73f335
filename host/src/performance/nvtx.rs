//! Named ranges of a program, for NVIDIA's profilers and for our own profiles.
//!
//! NVIDIA's tools extension (NVTX) is a protocol, not a library: a tool that wants to hear of ranges names a library of its own in
//! `NVTX_INJECTION64_PATH`. The program loads it, hands it a table of places for functions (`InitializeInjectionNvtx2`,
//! nvtx3/nvtxDetail/nvtxInit.h), and calls what the tool has put there. Without a tool nothing is loaded. NVIDIA's own crate for
//! it needs libclang and a C compiler to build, which this project does not ask for.

use crate::base::recording;
use libloading::os::unix::{Library, Symbol};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::time::Instant;

/// Gives what the thread does until the result is dropped a name, in NVIDIA's Nsight tools and in [`crate::Profile`]s. Costs next
/// to nothing where neither listens.
///
/// # Examples
/// ```
/// let (_, profile) = rumba::profile(|| {
///     let _outer = rumba::nvtx::range("all of it");
///     let _inner = rumba::nvtx::range("a part of it");
/// })?;
/// assert_eq!(profile.ranges().len(), 2);
/// # Ok::<(), rumba::Error>(())
/// ```
#[must_use = "a range ends when it is dropped: bind it to a name, as in `let _range = ..`"]
pub fn range(name: &str) -> Range {
    let is_pushed = push(name);
    Range { profiled: recording::is_heard().then(|| (name.to_owned(), Instant::now())), is_pushed, thread: PhantomData }
}

/// Marks this moment with a name, in NVIDIA's Nsight tools.
pub fn mark(name: &str) {
    if let (Some(function), Ok(text)) = (function(MARK), CString::new(name)) {
        // SAFETY: the tool has put a function of this signature there, and copies the text.
        unsafe { std::mem::transmute::<*mut c_void, Mark>(function)(text.as_ptr()) };
    }
}

/// A part of the program that has a name: see [`range`].
#[derive(Debug)]
pub struct Range {
    profiled: Option<(String, Instant)>,
    is_pushed: bool,
    /// Ranges of a thread are nested, and end where they began.
    thread: PhantomData<*const ()>,
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.is_pushed
            && let Some(function) = function(POP)
        {
            // SAFETY: the tool has put a function of this signature there.
            unsafe { std::mem::transmute::<*mut c_void, Pop>(function)() };
        }
        if let Some((name, from)) = self.profiled.take() {
            recording::range(&name, from, Instant::now());
        }
    }
}

fn push(name: &str) -> bool {
    let (Some(function), Ok(text)) = (function(PUSH), CString::new(name)) else {
        return false;
    };
    // SAFETY: as in `mark`.
    unsafe { std::mem::transmute::<*mut c_void, Push>(function)(text.as_ptr()) };
    true
}

type Mark = unsafe extern "C" fn(*const c_char);
type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;

/// `NvtxCallbackIdCore` of nvtxTypes.h, as far as they are used.
const MARK: usize = 2;
const PUSH: usize = 9;
const POP: usize = 11;

/// How many functions the modules have: core, CUDA, OpenCL, the CUDA runtime, core 2, synchronisation (`NvtxCallbackModule`, from
/// 1, and each list's `SIZE`). A tool expects all of them, and is asked for the core's.
const MODULES: [usize; 6] = [16, 9, 15, 7, 16, 7];
const MOST: usize = 16;

/// Where a tool puts its functions, by module.
static FUNCTIONS: [[AtomicPtr<c_void>; MOST]; MODULES.len()] =
    [const { [const { AtomicPtr::new(null_mut()) }; MOST] }; MODULES.len()];
/// The tables that the tool receives: lists of the addresses of `FUNCTIONS`.
static PLACES: [[AtomicUsize; MOST]; MODULES.len()] = [const { [const { AtomicUsize::new(0) }; MOST] }; MODULES.len()];

/// The tool's function of an index, if a tool is loaded and implements the function.
fn function(index: usize) -> Option<*mut c_void> {
    static TOOL: OnceLock<bool> = OnceLock::new();
    if !*TOOL.get_or_init(load) {
        return None;
    }
    let function = FUNCTIONS[0][index].load(Ordering::Acquire);
    (!function.is_null()).then_some(function)
}

/// Loads the tool that the environment names. False if the environment names no tool, or the tool declines.
fn load() -> bool {
    type Initialise = unsafe extern "C" fn(GetExportTable) -> c_int;
    let Some(path) = rumba_driver::library_from_environment("NVTX_INJECTION64_PATH") else {
        return false;
    };
    for (place, function) in PLACES.as_flattened().iter().zip(FUNCTIONS.as_flattened()) {
        place.store(function.as_ptr().expose_provenance(), Ordering::Relaxed);
    }
    // SAFETY: loading runs the initialisers of a library that the user, or the tool that started us, has named for this
    // purpose; the entry has this signature by the protocol. It is never unloaded.
    unsafe {
        let Ok(library) = Library::new(path) else { return false };
        let library = std::mem::ManuallyDrop::new(library);
        let initialise: Result<Symbol<Initialise>, _> = library.get(b"InitializeInjectionNvtx2\0");
        initialise.is_ok_and(|initialise| initialise(export_table) != 0)
    }
}

type GetExportTable = unsafe extern "C" fn(c_uint) -> *const c_void;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
struct Callbacks {
    size: usize,
    module_function_table: unsafe extern "C" fn(c_uint, *mut *const AtomicUsize, *mut c_uint) -> c_int,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
struct Version {
    size: usize,
    version: c_uint,
    reserved: c_uint,
    set_injection_version: unsafe extern "C" fn(c_uint),
}

unsafe extern "C" fn export_table(id: c_uint) -> *const c_void {
    static CALLBACKS: Callbacks = Callbacks { size: size_of::<Callbacks>(), module_function_table };
    static VERSION: Version = Version { size: size_of::<Version>(), version: 3, reserved: 0, set_injection_version };
    match id {
        1 => (&raw const CALLBACKS).cast(),
        3 => (&raw const VERSION).cast(),
        _ => std::ptr::null(),
    }
}

unsafe extern "C" fn set_injection_version(_version: c_uint) {}

/// Gives the tool the list of places of a module of functions.
unsafe extern "C" fn module_function_table(module: c_uint, table: *mut *const AtomicUsize, size: *mut c_uint) -> c_int {
    let index = (module as usize).wrapping_sub(1);
    let (Some(places), Some(&count)) = (PLACES.get(index), MODULES.get(index)) else {
        return 0;
    };
    // SAFETY: the protocol allows either to be null, and says that they are valid places otherwise.
    unsafe {
        if let Some(size) = size.as_mut() {
            *size = count as c_uint;
        }
        if let Some(table) = table.as_mut() {
            *table = places.as_ptr();
        }
    }
    1
}
