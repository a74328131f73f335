//! The parts of LLVM that Rumba uses, from the shared library of a Rust toolchain: contexts, modules, passes, machine code.
//!
//! Nothing is linked: [`find::library`] looks for a `libLLVM` and [`load`] loads it when it is first needed ([`load_isolated`] for
//! threads that may outlast the program's end), so a program that uses this crate starts, and works without what LLVM does, on a
//! machine that has none. `cuda_builder` makes PTX with it,
//! `rumba-jit` functions of this process. It knows nothing of kernels.
//!
//! # Examples
//!
//! ```
//! use rumba_llvm::{Context, Level, Machine, Module, Output, Pipeline, find, load};
//!
//! let Some(library) = find::library() else { return Ok(()) };
//! let llvm = load(&library)?;
//! let context = Context::new(llvm);
//! let module = Module::parse(&context, "define i32 @one() { ret i32 1 }")?;
//! let machine = Machine::host(&context, Level::O3)?;
//! machine.adopt(&module);
//! module.run_passes(&Pipeline::new(c"default<O3>"), Some(&machine))?;
//! let text = machine.emit(module, Output::Assembly)?;
//! assert!(String::from_utf8_lossy(&text).contains("one:"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod api;
mod fatal;
pub mod find;
mod isolated;
mod machine;
mod module;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;

use api::Api;
use isolated::Entrance;
pub use machine::{BackEnd, Level, Machine, Output, Target};
pub use module::{Module, Pipeline};

/// LLVM's own error message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LlvmError(pub String);

/// Why a file cannot be used as LLVM.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The loader refused the file, or the library lacks a function.
    #[error("{}", sentence(.0))]
    Library(#[source] libloading::Error),
    /// The loader refused the file, with this message.
    #[error("{0}")]
    Refused(String),
    /// This C library cannot load a library into a namespace of its own.
    #[error("it can only be loaded into a namespace of its own by GNU's C library from version 2.34 on")]
    NoNamespaces,
    /// The library is older than the oldest LLVM known to work.
    #[error("it is LLVM {found}, and {} is the oldest that works", find::OLDEST)]
    Old {
        /// Its version.
        found: String,
    },
}

/// The loader's words, which libloading keeps one level down.
fn sentence(error: &libloading::Error) -> String {
    use std::error::Error;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// A loaded `libLLVM`. Never unloaded: it lives as long as the process.
pub struct Llvm {
    api: Api,
    path: PathBuf,
    entrance: Entrance,
    version: (u32, u32, u32),
    /// The back ends that are registered.
    back_ends: Mutex<Vec<BackEnd>>,
}

impl fmt::Debug for Llvm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Llvm").field("path", &self.path).field("version", &self.version).finish_non_exhaustive()
    }
}

/// Loads a `libLLVM`, once per process and path.
///
/// The file must be a library that the user means to run: loading it executes its code. No thread may be in LLVM when the process
/// ends, nor in this function: `exit` runs the destructors of LLVM's variables.
///
/// # Errors
/// If the loader refuses the file, or if it is no LLVM, or one that is too old.
pub fn load(path: &Path) -> Result<&'static Llvm, LoadError> {
    static LOADED: Loaded = OnceLock::new();
    // SAFETY: the path names a libLLVM of the user's; its initialisers register targets and options and have no preconditions.
    let open = |path: &Path| unsafe { Library::new(path) }.map_err(LoadError::Library);
    load_once(&LOADED, path, |path| Ok((open(path)?, Entrance::default())))
}

/// Loads a `libLLVM` apart from the rest of the program, once per process and path: a thread may be in it while the process ends,
/// because the destructors of its variables never run.
///
/// One exception is left: where the process has ended so far that the loader finalises libraries before this function returns,
/// the library must not be used any more.
///
/// # Errors
/// The errors of [`load`], and an error if the C library does not support namespaces.
pub fn load_isolated(path: &Path) -> Result<&'static Llvm, LoadError> {
    static LOADED: Loaded = OnceLock::new();
    load_once(&LOADED, path, isolated::open)
}

/// The loaded libraries, by path.
type Loaded = OnceLock<Mutex<HashMap<PathBuf, &'static Llvm>>>;

fn load_once(
    loaded: &'static Loaded,
    path: &Path,
    open: impl FnOnce(&Path) -> Result<(Library, Entrance), LoadError>,
) -> Result<&'static Llvm, LoadError> {
    let mut loaded = loaded.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(llvm) = loaded.get(path) {
        return Ok(llvm);
    }
    let (library, entrance) = open(path)?;
    let api = Api::resolve(library).map_err(LoadError::Library)?;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the three numbers are ours.
    unsafe { (api.LLVMGetVersion)(&raw mut major, &raw mut minor, &raw mut patch) };
    let llvm = Box::leak(Box::new(Llvm {
        api,
        path: path.to_owned(),
        entrance,
        version: (major, minor, patch),
        back_ends: Mutex::default(),
    }));
    if major < find::OLDEST {
        return Err(LoadError::Old { found: llvm.to_string() });
    }
    loaded.insert(path.to_owned(), llvm);
    Ok(llvm)
}

/// The version.
impl fmt::Display for Llvm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.version;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl Llvm {
    /// The functions themselves.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The file that was loaded.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Copies a message out of LLVM and frees the original.
    ///
    /// # Safety
    /// `message` is null or a string that LLVM allocated for the caller.
    pub unsafe fn take_message(&self, message: *mut c_char) -> String {
        if message.is_null() {
            return String::new();
        }
        // SAFETY: a non-null message is a NUL-terminated string that is ours to free.
        unsafe {
            let text = CStr::from_ptr(message).to_string_lossy().into_owned();
            (self.api.LLVMDisposeMessage)(message);
            text
        }
    }

    /// Registers a back end, once.
    fn register(&self, back_end: BackEnd) -> Result<(), LlvmError> {
        let mut registered = self.back_ends.lock().unwrap_or_else(PoisonError::into_inner);
        if registered.contains(&back_end) {
            return Ok(());
        }
        let name = back_end.name();
        let missing = |_| LlvmError(format!("this LLVM ({self}) has no back end for {name}"));
        for initialise in self.api.initialisers(name).map_err(missing)? {
            // SAFETY: these register a back end; the lock makes this the only call in flight.
            unsafe { initialise() };
        }
        registered.push(back_end);
        Ok(())
    }
}

/// An LLVM context: owns types, constants and the diagnostics of what happens in it.
///
/// A function whose frame on the stack is larger than its attribute `warn-stack-size` says is an error.
pub struct Context {
    llvm: &'static Llvm,
    raw: api::ContextRef,
    /// Errors that LLVM reported through the context's handler. Boxed: LLVM holds its address.
    messages: Box<Messages>,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("raw", &self.raw).finish_non_exhaustive()
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for Context {}

struct Messages {
    llvm: &'static Llvm,
    errors: RefCell<Vec<String>>,
}

extern "C" fn record_diagnostic(info: api::DiagnosticInfo, sink: *mut c_void) {
    const ERROR: i32 = 0;
    // A part of the warning that the module requests: `"warn-stack-size"="BYTES"`.
    const LARGE_FRAME: &str = "stack frame size (";
    // SAFETY: `sink` is the address of the context's boxed `Messages`, which outlives the context.
    let messages = unsafe { &*sink.cast::<Messages>() };
    // SAFETY: `info` is valid during the call; the description is ours to free.
    unsafe {
        let api = &messages.llvm.api;
        let text = messages.llvm.take_message((api.LLVMGetDiagInfoDescription)(info));
        if (api.LLVMGetDiagInfoSeverity)(info) == ERROR || text.contains(LARGE_FRAME) {
            messages.errors.borrow_mut().push(text);
        }
    }
}

impl Context {
    /// A new context, of the thread that makes it.
    pub fn new(llvm: &'static Llvm) -> Self {
        let messages = Box::new(Messages { llvm, errors: RefCell::default() });
        llvm.entrance.enter();
        // SAFETY: the handler's argument lives in a box that is dropped after the context.
        let raw = unsafe {
            let raw = (llvm.api.LLVMContextCreate)();
            let sink = (&raw const *messages).cast_mut().cast();
            (llvm.api.LLVMContextSetDiagnosticHandler)(raw, Some(record_diagnostic), sink);
            raw
        };
        Self { llvm, raw, messages }
    }

    /// LLVM's functions.
    pub fn api(&self) -> &'static Api {
        &self.llvm.api
    }

    /// The library.
    pub fn llvm(&self) -> &'static Llvm {
        self.llvm
    }

    /// LLVM's own handle, which lives as long as this context.
    pub fn raw(&self) -> api::ContextRef {
        self.raw
    }

    /// The errors reported since the last call, as one error.
    fn error(&self, fallback: &str) -> LlvmError {
        let errors = self.messages.errors.take();
        LlvmError(if errors.is_empty() { fallback.to_owned() } else { errors.join("\n") })
    }

    /// Fails if LLVM reported an error since the last call.
    fn check(&self) -> Result<(), LlvmError> {
        if self.messages.errors.borrow().is_empty() { Ok(()) } else { Err(self.error("")) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: modules borrow the context, so none is left.
        unsafe { (self.api().LLVMContextDispose)(self.raw) }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        BackEnd, Context, Level, LlvmError, LoadError, Machine, Module, Output, Pipeline, Target, find, load,
        load_isolated,
    };

    /// LLVM of the toolchain that compiles these tests, if it is for the processor that runs them.
    fn llvm() -> Option<&'static super::Llvm> {
        let library = find::library();
        assert!(library.is_some() || cfg!(not(target_arch = "x86_64")), "a toolchain has a libLLVM");
        Some(load(&library?).unwrap())
    }

    #[test]
    fn wrong_assembly_gets_the_message_of_llvm() {
        let Some(llvm) = llvm() else { return };
        let context = Context::new(llvm);
        let LlvmError(text) = Module::parse(&context, "define void @f() { ret i32 1 }").unwrap_err();
        assert!(text.contains("value doesn't match function result type 'void'"), "{text}");
        // The parser accepts a use before the definition, which is not well formed.
        let LlvmError(text) =
            Module::parse(&context, "define i32 @f() { %a = add i32 %b, 1\n %b = add i32 %a, 1\n ret i32 %b }")
                .unwrap_err();
        assert!(text.contains("does not dominate"), "{text}");
    }

    #[test]
    fn wrong_passes_get_the_message_of_llvm() {
        let Some(llvm) = llvm() else { return };
        let context = Context::new(llvm);
        let module = Module::parse(&context, "define void @f() { ret void }").unwrap();
        let LlvmError(text) = module.run_passes(&Pipeline::new(c"instkombine"), None).unwrap_err();
        assert!(text.contains("instkombine"), "{text}");
    }

    #[test]
    fn a_fatal_error_is_an_error() {
        let Some(llvm) = llvm() else { return };
        let outcome = llvm.guarded(move || {
            let context = Context::new(llvm);
            // No processor has a register of that name.
            let text = "define i64 @f() { %a = call i64 @llvm.read_register.i64(metadata !0)\n ret i64 %a }\n\
                        declare i64 @llvm.read_register.i64(metadata)\n!0 = !{!\"nosuch\"}";
            let module = Module::parse(&context, text)?;
            let machine = Machine::host(&context, Level::O0)?;
            machine.adopt(&module);
            machine.emit(module, Output::Object)
        });
        let LlvmError(text) = outcome.unwrap_err();
        assert!(text.contains("nosuch"), "{text}");
        // It goes on working.
        let again = llvm.guarded(move || Module::parse(&Context::new(llvm), "@a = global i32 1").map(|_| ()));
        assert_eq!(again, Ok(()));
    }

    #[test]
    fn a_panic_passes_through() {
        let Some(llvm) = llvm() else { return };
        let outcome = std::panic::catch_unwind(|| llvm.guarded(|| -> Result<(), LlvmError> { panic!("ours") }));
        assert_eq!(outcome.unwrap_err().downcast_ref::<&str>(), Some(&"ours"));
    }

    #[test]
    fn a_file_that_is_no_llvm_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libLLVM.so.22");
        std::fs::write(&file, "INPUT(libLLVM.so)").unwrap();
        assert!(matches!(load(&file), Err(LoadError::Library(_))));
        assert!(matches!(load("libc.so.6".as_ref()), Err(LoadError::Library(_))));
        if cfg!(target_env = "gnu") {
            assert!(matches!(load_isolated(&file), Err(LoadError::Refused(_))));
        }
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn one_that_is_isolated_is_another_one() {
        let Some(llvm) = llvm() else { return };
        let isolated = load_isolated(llvm.path()).unwrap();
        assert_ne!(isolated.api().LLVMContextCreate as usize, llvm.api().LLVMContextCreate as usize);
        assert!(std::ptr::eq(isolated, load_isolated(llvm.path()).unwrap()));
        for llvm in [isolated, llvm] {
            let text = llvm.guarded(move || Ok::<_, LlvmError>(Module::new(&Context::new(llvm), c"name").to_text()));
            assert!(text.unwrap().contains("ModuleID = 'name'"));
        }
    }

    /// The assembly of a module for a processor; nothing where the library writes code for its own processors only.
    fn assembly(llvm: &'static super::Llvm, cpu: &str, text: &str) -> Option<String> {
        let context = Context::new(llvm);
        let target = Target {
            back_end: BackEnd::X86,
            triple: c"x86_64-unknown-linux-gnu",
            cpu,
            features: "",
            level: Level::O2,
            position_independent: true,
        };
        let machine = Machine::new(&context, &target).ok()?;
        let module = Module::parse(&context, text).unwrap();
        machine.adopt(&module);
        Some(String::from_utf8(machine.emit(module, Output::Assembly).unwrap()).unwrap())
    }

    #[test]
    fn elements_are_still_loaded_from_outside_of_their_vector() {
        let Some(llvm) = llvm() else { return };
        let Some(text) = assembly(llvm, "x86-64", include_str!("element.ll")) else { return };
        assert!(
            text.contains("bsrl") && !text.contains("andl"),
            "LLVM {llvm} limits the index of an element, as it should: see docs/llvm-element\n{text}"
        );
    }

    #[test]
    fn scatters_still_take_a_base_from_the_wrong_lane() {
        let Some(llvm) = llvm() else { return };
        let Some(text) = assembly(llvm, "x86-64-v4", include_str!("scatter.ll")) else { return };
        let scatters = text.lines().filter(|line| line.contains("vpscatter"));
        let bases: std::collections::BTreeSet<_> =
            scatters.filter_map(|line| line.split_once('(')?.1.split(',').next()).collect();
        assert_eq!(
            bases.len(),
            1,
            "LLVM {llvm} has a base for each group of lanes, as it should: see docs/llvm-scatter\n{text}"
        );
    }

    #[test]
    fn the_processor_is_named() {
        let Some(llvm) = llvm() else { return };
        let (cpu, features) = llvm.host();
        assert!(!cpu.is_empty() && features.starts_with(['+', '-']), "{cpu}: {features}");
    }
}
