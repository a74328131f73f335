//! The NVPTX target machine: optimise a module, print it as PTX.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use super::{Context, LlvmError, Module, api};

/// The triple of every module.
const TRIPLE: &CStr = c"nvptx64-nvidia-cuda";

/// How much LLVM optimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OptLevel {
    /// Not at all: for looking at what the compiler made. Shared memory is then addressed as generic
    /// memory.
    O0,
    /// A little.
    O1,
    /// Most of what there is.
    O2,
    /// Everything.
    #[default]
    O3,
}

impl OptLevel {
    /// The level of code generation.
    fn raw(self) -> i32 {
        match self {
            Self::O0 => 0,
            Self::O1 => 1,
            Self::O2 => 2,
            Self::O3 => 3,
        }
    }

    /// The pass pipeline.
    fn pipeline(self) -> &'static CStr {
        match self {
            Self::O0 => c"default<O0>",
            Self::O1 => c"default<O1>",
            Self::O2 => c"default<O2>",
            Self::O3 => c"default<O3>",
        }
    }
}

/// What goes before the machine's own pipeline, without a machine.
///
/// Rust code branches on an `Option` right after it has made one: in `for` loops, and wherever a
/// thread asks for its own element. Jump threading joins the two branches, and only then are loops
/// counted, unrolled and free of bounds checks. For a machine whose threads diverge, LLVM leaves that
/// pass out, so it runs here. Barriers are safe: no pass duplicates a convergent call.
const THREAD_OPTIONS: &CStr = c"cgscc(inline,function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,\
    instcombine<no-verify-fixpoint>,jump-threading,correlated-propagation,simplifycfg,\
    instcombine<no-verify-fixpoint>))";

/// A code generator for one virtual architecture and PTX version.
pub(crate) struct Machine<'c> {
    context: &'c Context,
    raw: api::TargetMachineRef,
    level: OptLevel,
}

impl<'c> Machine<'c> {
    /// `cpu` is `sm_NN`; `features` is LLVM's list, such as `+ptx63`.
    pub(crate) fn new(context: &'c Context, cpu: &str, features: &str, level: OptLevel) -> Result<Self, LlvmError> {
        let api = context.api();
        let text = |text: &str| CString::new(text).map_err(|_| LlvmError(format!("`{text}` contains a NUL")));
        let (cpu, features) = (text(cpu)?, text(features)?);
        let mut target = null_mut();
        let mut message = null_mut();
        // SAFETY: all strings are NUL-terminated and outlive the calls; `message` is ours.
        unsafe {
            if (api.LLVMGetTargetFromTriple)(TRIPLE.as_ptr(), &raw mut target, &raw mut message) != 0 {
                return Err(LlvmError(context.llvm.take_message(message)));
            }
            let raw = (api.LLVMCreateTargetMachine)(
                target,
                TRIPLE.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                level.raw(),
                0,
                0,
            );
            if raw.is_null() {
                return Err(LlvmError(format!("no NVPTX target machine for {cpu:?}")));
            }
            (api.LLVMSetTargetMachineAsmVerbosity)(raw, 0);
            Ok(Self { context, raw, level })
        }
    }

    /// Gives the module this machine's triple and data layout.
    pub(crate) fn adopt(&self, module: &Module<'c>) {
        let api = self.context.api();
        // SAFETY: the module and the machine are alive; the layout string is ours to free.
        unsafe {
            let layout = (api.LLVMCreateTargetDataLayout)(self.raw);
            let text = (api.LLVMCopyStringRepOfTargetData)(layout);
            (api.LLVMSetTarget)(module.raw(), TRIPLE.as_ptr());
            (api.LLVMSetDataLayout)(module.raw(), text);
            (api.LLVMDisposeMessage)(text);
            (api.LLVMDisposeTargetData)(layout);
        }
    }

    /// Runs the optimisation pipeline of this machine's level.
    pub(crate) fn optimise(&self, module: &Module<'c>) -> Result<(), LlvmError> {
        if self.level != OptLevel::O0 {
            self.run_for(null_mut(), module, THREAD_OPTIONS)?;
        }
        self.run(module, self.level.pipeline())
    }

    /// Drops branches that are never taken where the pipeline of this machine's level does not: what is in them may be more
    /// than the architecture has.
    pub(crate) fn fold(&self, module: &Module<'c>) -> Result<(), LlvmError> {
        match self.level {
            OptLevel::O0 => self.run(module, c"always-inline,function(instsimplify,simplifycfg),globaldce"),
            OptLevel::O1 | OptLevel::O2 | OptLevel::O3 => Ok(()),
        }
    }

    /// Runs a pass pipeline, in the syntax of `opt -passes=`.
    pub(crate) fn run(&self, module: &Module<'c>, passes: &CStr) -> Result<(), LlvmError> {
        self.run_for(self.raw, module, passes)
    }

    /// Runs passes with the costs of a machine, or of none in particular.
    fn run_for(&self, machine: api::TargetMachineRef, module: &Module<'c>, passes: &CStr) -> Result<(), LlvmError> {
        let api = self.context.api();
        // SAFETY: module and machine belong to the same context; passes may go without a machine; an
        // error's message is ours.
        unsafe {
            let options = (api.LLVMCreatePassBuilderOptions)();
            let error = (api.LLVMRunPasses)(module.raw(), passes.as_ptr(), machine, options);
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

    /// Prints the module as PTX. Code generation changes the module: print it once.
    pub(crate) fn emit(&self, module: Module<'c>) -> Result<String, LlvmError> {
        const ASSEMBLY: i32 = 0;
        let api = self.context.api();
        let mut message = null_mut();
        let mut buffer = null_mut();
        // SAFETY: module and machine belong to the same context; on success the buffer is ours.
        unsafe {
            let failed = (api.LLVMTargetMachineEmitToMemoryBuffer)(
                self.raw,
                module.raw(),
                ASSEMBLY,
                &raw mut message,
                &raw mut buffer,
            );
            if failed != 0 {
                return Err(LlvmError(self.context.llvm.take_message(message)));
            }
            let bytes = std::slice::from_raw_parts(
                (api.LLVMGetBufferStart)(buffer).cast::<u8>(),
                (api.LLVMGetBufferSize)(buffer),
            );
            let text = String::from_utf8_lossy(bytes).into_owned();
            (api.LLVMDisposeMemoryBuffer)(buffer);
            self.context.check()?;
            Ok(text)
        }
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        // SAFETY: the machine is ours and is not used again.
        unsafe { (self.context.api().LLVMDisposeTargetMachine)(self.raw) }
    }
}
