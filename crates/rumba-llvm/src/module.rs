//! LLVM modules as wholes. Only [`Module::raw`] gives access to their functions and variables.

use std::ffi::CStr;
use std::fmt;
use std::ptr::null_mut;

use crate::{Context, LlvmError, Machine, api};

/// Passes to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline<'a> {
    /// The passes, in the syntax of `opt -passes=`.
    pub passes: &'a CStr,
    /// Whether passes may vectorize, interleave and unroll loops.
    pub widens_loops: bool,
}

impl<'a> Pipeline<'a> {
    /// These passes, as LLVM runs them.
    pub const fn new(passes: &'a CStr) -> Self {
        Self { passes, widens_loops: true }
    }
}

/// A module of LLVM IR.
pub struct Module<'c> {
    context: &'c Context,
    raw: api::ModuleRef,
}

impl fmt::Debug for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("raw", &self.raw).finish_non_exhaustive()
    }
}

impl<'c> Module<'c> {
    /// An empty module.
    pub fn new(context: &'c Context, name: &CStr) -> Self {
        // SAFETY: the name is NUL-terminated and copied.
        let raw = unsafe { (context.api().LLVMModuleCreateWithNameInContext)(name.as_ptr(), context.raw()) };
        Self { context, raw }
    }

    /// Reads bitcode. Function bodies are read, from where they are, when something first needs them.
    ///
    /// # Errors
    /// If LLVM cannot read it.
    ///
    /// # Safety
    /// The bitcode was written by LLVM: its reader trusts what it reads.
    pub unsafe fn read(context: &'c Context, bitcode: &'c [u8]) -> Result<Self, LlvmError> {
        let api = context.api();
        let mut raw = null_mut();
        // SAFETY: the module takes the buffer over, and `bitcode` outlives the context, so the module too. Bitcode ends
        // without a NUL.
        let failed = unsafe {
            let buffer = (api.LLVMCreateMemoryBufferWithMemoryRange)(
                bitcode.as_ptr().cast(),
                bitcode.len(),
                c"bitcode".as_ptr(),
                0,
            );
            (api.LLVMGetBitcodeModuleInContext2)(context.raw(), buffer, &raw mut raw)
        };
        if failed != 0 {
            return Err(context.error("the bitcode could not be read"));
        }
        Ok(Self { context, raw })
    }

    /// Reads LLVM's assembly.
    ///
    /// # Errors
    /// If the text is not well formed.
    pub fn parse(context: &'c Context, text: &str) -> Result<Self, LlvmError> {
        let api = context.api();
        let (mut raw, mut message) = (null_mut(), null_mut());
        // SAFETY: the buffer is a copy of `text`, and the parser takes it over; `message` is ours.
        let failed = unsafe {
            let buffer =
                (api.LLVMCreateMemoryBufferWithMemoryRangeCopy)(text.as_ptr().cast(), text.len(), c"assembly".as_ptr());
            (api.LLVMParseIRInContext)(context.raw(), buffer, &raw mut raw, &raw mut message)
        };
        if failed != 0 {
            // SAFETY: set where parsing fails.
            return Err(LlvmError(unsafe { context.llvm().take_message(message) }));
        }
        let module = Self { context, raw };
        module.verify()?;
        Ok(module)
    }

    /// LLVM's own handle, which lives as long as this module.
    pub fn raw(&self) -> api::ModuleRef {
        self.raw
    }

    /// The context that owns the module.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// Links `source` into this module.
    ///
    /// # Errors
    /// If both define a symbol, or their types or flags do not go together.
    pub fn link(&self, source: Self) -> Result<(), LlvmError> {
        let raw = source.raw;
        std::mem::forget(source);
        // SAFETY: both modules are of one context; linking disposes of the source in any case.
        let failed = unsafe { (self.context.api().LLVMLinkModules2)(self.raw, raw) };
        if failed != 0 {
            return Err(self.context.error("the modules could not be linked"));
        }
        self.context.check()
    }

    /// The module as bitcode.
    pub fn to_bitcode(&self) -> Vec<u8> {
        let api = self.context.api();
        // SAFETY: the module is alive; the buffer is ours.
        unsafe {
            let buffer = (api.LLVMWriteBitcodeToMemoryBuffer)(self.raw);
            take_buffer(api, buffer)
        }
    }

    /// Removes all source positions.
    pub fn strip_positions(&self) {
        // SAFETY: the module is alive; the answer says whether there were any.
        unsafe { (self.context.api().LLVMStripModuleDebugInfo)(self.raw) };
    }

    /// Checks that the module is well formed.
    ///
    /// # Errors
    /// If the module is not well formed.
    pub fn verify(&self) -> Result<(), LlvmError> {
        const RETURN_STATUS: i32 = 2;
        let mut message = null_mut();
        // SAFETY: the message is allocated for us in either case.
        unsafe {
            let broken = (self.context.api().LLVMVerifyModule)(self.raw, RETURN_STATUS, &raw mut message);
            let message = self.context.llvm().take_message(message);
            if broken != 0 {
                return Err(LlvmError(message));
            }
        }
        Ok(())
    }

    /// The module as LLVM's assembly.
    pub fn to_text(&self) -> String {
        // SAFETY: the string is allocated for us.
        unsafe {
            let text = (self.context.api().LLVMPrintModuleToString)(self.raw);
            self.context.llvm().take_message(text)
        }
    }

    /// Runs passes, with the costs of a machine or of none in particular.
    ///
    /// # Errors
    /// If there is no such pass, or if a pass reports an error.
    pub fn run_passes(&self, pipeline: &Pipeline<'_>, machine: Option<&Machine<'c>>) -> Result<(), LlvmError> {
        let api = self.context.api();
        let machine = machine.map_or(null_mut(), Machine::raw);
        // SAFETY: module and machine belong to the same context; passes may go without a machine; an
        // error's message is ours.
        unsafe {
            let options = (api.LLVMCreatePassBuilderOptions)();
            if !pipeline.widens_loops {
                (api.LLVMPassBuilderOptionsSetLoopVectorization)(options, 0);
                (api.LLVMPassBuilderOptionsSetLoopInterleaving)(options, 0);
                (api.LLVMPassBuilderOptionsSetLoopUnrolling)(options, 0);
            }
            let error = (api.LLVMRunPasses)(self.raw, pipeline.passes.as_ptr(), machine, options);
            (api.LLVMDisposePassBuilderOptions)(options);
            if !error.is_null() {
                let message = (api.LLVMGetErrorMessage)(error);
                let text = CStr::from_ptr(message).to_string_lossy().into_owned();
                (api.LLVMDisposeErrorMessage)(message);
                return Err(LlvmError(text));
            }
        }
        self.context.check()
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: the module is ours and is not used again.
        unsafe { (self.context.api().LLVMDisposeModule)(self.raw) }
    }
}

/// Copies a buffer of LLVM's and frees it.
///
/// # Safety
/// The buffer is the caller's, and not used again.
pub(crate) unsafe fn take_buffer(api: &api::Api, buffer: api::MemoryBuffer) -> Vec<u8> {
    // SAFETY: a live buffer has as many bytes as LLVM says.
    unsafe {
        let start = (api.LLVMGetBufferStart)(buffer).cast::<u8>();
        let bytes = std::slice::from_raw_parts(start, (api.LLVMGetBufferSize)(buffer)).to_vec();
        (api.LLVMDisposeMemoryBuffer)(buffer);
        bytes
    }
}
