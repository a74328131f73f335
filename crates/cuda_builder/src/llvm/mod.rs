//! The part of LLVM that the link stage needs, with lifetimes: contexts, modules, values, a target
//! machine.
//!
//! The library is the one that rustc itself uses, so its version always matches the bitcode. It
//! knows nothing of kernels; those rules are in [`crate::link`].

mod api;
mod atomic;
mod fatal;
mod module;
mod target;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use api::Api;
pub(crate) use atomic::{AtomicRmw, Number, Ordering, Scope};
pub(crate) use fatal::guarded;
pub(crate) use module::{FastMath, Initialiser, Instruction, Linkage, Location, Module, Opcode, Value};
pub(crate) use target::Machine;
pub use target::OptLevel;

/// What went wrong in LLVM, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LlvmError(pub(crate) String);

/// A loaded `libLLVM`. Never unloaded: it lives as long as the process.
pub(crate) struct Llvm {
    api: Api,
}

/// Loads a `libLLVM`, once per process and path.
pub(crate) fn load(path: &Path) -> Result<&'static Llvm, libloading::Error> {
    static LOADED: OnceLock<Mutex<HashMap<PathBuf, &'static Llvm>>> = OnceLock::new();
    let mut loaded = LOADED
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(llvm) = loaded.get(path) {
        return Ok(llvm);
    }
    let api = Api::load(path)?;
    // SAFETY: these register the NVPTX back end; the lock makes this the only call in flight.
    unsafe {
        (api.LLVMInitializeNVPTXTargetInfo)();
        (api.LLVMInitializeNVPTXTarget)();
        (api.LLVMInitializeNVPTXTargetMC)();
        (api.LLVMInitializeNVPTXAsmPrinter)();
        (api.LLVMInstallFatalErrorHandler)(fatal::handler);
    }
    let llvm: &'static Llvm = Box::leak(Box::new(Llvm { api }));
    loaded.insert(path.to_owned(), llvm);
    Ok(llvm)
}

impl Llvm {
    /// Copies a message out of LLVM and frees the original.
    ///
    /// # Safety
    /// `message` is null or a string that LLVM allocated for the caller.
    unsafe fn take_message(&self, message: *mut c_char) -> String {
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
}

/// An LLVM context: owns types, constants and the diagnostics of what happens in it.
pub(crate) struct Context {
    llvm: &'static Llvm,
    raw: api::ContextRef,
    /// Errors that LLVM reported through the context's handler. Boxed: LLVM holds its address.
    messages: Box<Messages>,
}

struct Messages {
    llvm: &'static Llvm,
    errors: RefCell<Vec<String>>,
}

extern "C" fn record_diagnostic(info: api::DiagnosticInfo, sink: *mut c_void) {
    const ERROR: i32 = 0;
    // SAFETY: `sink` is the address of the context's boxed `Messages`, which outlives the context.
    let messages = unsafe { &*sink.cast::<Messages>() };
    // SAFETY: `info` is valid during the call; the description is ours to free.
    unsafe {
        let api = &messages.llvm.api;
        if (api.LLVMGetDiagInfoSeverity)(info) == ERROR {
            let text = messages.llvm.take_message((api.LLVMGetDiagInfoDescription)(info));
            messages.errors.borrow_mut().push(text);
        }
    }
}

impl Context {
    pub(crate) fn new(llvm: &'static Llvm) -> Self {
        let messages = Box::new(Messages {
            llvm,
            errors: RefCell::default(),
        });
        // SAFETY: the handler's argument lives in a box that is dropped after the context.
        let raw = unsafe {
            let raw = (llvm.api.LLVMContextCreate)();
            let sink = (&raw const *messages).cast_mut().cast();
            (llvm.api.LLVMContextSetDiagnosticHandler)(raw, Some(record_diagnostic), sink);
            raw
        };
        Self { llvm, raw, messages }
    }

    fn api(&self) -> &'static Api {
        &self.llvm.api
    }

    /// The errors reported since the last call, as one error.
    fn error(&self, fallback: &str) -> LlvmError {
        let errors = self.messages.errors.take();
        LlvmError(if errors.is_empty() {
            fallback.to_owned()
        } else {
            errors.join("\n")
        })
    }

    /// Fails if LLVM reported an error since the last call.
    fn check(&self) -> Result<(), LlvmError> {
        if self.messages.errors.borrow().is_empty() {
            Ok(())
        } else {
            Err(self.error(""))
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: modules borrow the context, so none is left.
        unsafe { (self.api().LLVMContextDispose)(self.raw) }
    }
}
