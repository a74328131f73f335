//! Target machines: the processors that code is optimized for, and the formats of the output.

use std::ffi::{CStr, CString};
use std::fmt;
use std::ptr::null_mut;

use crate::module::take_buffer;
use crate::{Context, Llvm, LlvmError, Module, api};

/// A part of LLVM that writes code of one architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackEnd {
    /// PTX.
    Nvptx,
    /// Processors of x86.
    X86,
    /// ARM's processors of 64 bits.
    AArch64,
}

impl BackEnd {
    /// The back end for the processor that runs this program, if it is one of these.
    pub const fn host() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::AArch64)
        } else {
            None
        }
    }

    /// LLVM's name of the back end.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nvptx => "NVPTX",
            Self::X86 => "X86",
            Self::AArch64 => "AArch64",
        }
    }
}

/// How much effort goes into writing code: the levels of LLVM's code generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// None.
    O0 = 0,
    /// A little.
    O1 = 1,
    /// Most optimizations.
    O2 = 2,
    /// All optimizations.
    O3 = 3,
}

impl Level {
    /// The level of a digit, `0` to `3`.
    ///
    /// # Examples
    ///
    /// ```
    /// use rumba_llvm::Level;
    ///
    /// assert_eq!(Level::parse("0"), Some(Level::O0));
    /// assert_eq!(Level::parse("4"), None);
    /// ```
    pub fn parse(digit: &str) -> Option<Self> {
        [Self::O0, Self::O1, Self::O2, Self::O3].into_iter().find(|level| (*level as i32).to_string() == digit)
    }
}

/// The target of code generation.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The back end that writes the code.
    pub back_end: BackEnd,
    /// Architecture, vendor, system.
    pub triple: &'a CStr,
    /// LLVM's name of the processor, such as `znver4` or `sm_90`.
    pub cpu: &'a str,
    /// LLVM's list of features, such as `+avx2,-avx512f`.
    pub features: &'a str,
    /// Effort.
    pub level: Level,
    /// Whether the code may lie at any address.
    pub position_independent: bool,
}

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The assembler's text.
    Assembly,
    /// A relocatable file, ELF on Linux.
    Object,
}

/// A code generator for one target.
pub struct Machine<'c> {
    context: &'c Context,
    raw: api::TargetMachineRef,
    triple: CString,
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("triple", &self.triple).finish_non_exhaustive()
    }
}

impl Llvm {
    /// LLVM's name of the processor that runs this program, and its list of what that has.
    pub fn host(&self) -> (String, String) {
        self.entrance.enter();
        let api = self.api();
        // SAFETY: both strings are allocated for us.
        unsafe { (self.take_message((api.LLVMGetHostCPUName)()), self.take_message((api.LLVMGetHostCPUFeatures)())) }
    }
}

impl<'c> Machine<'c> {
    /// A code generator for a target.
    ///
    /// # Errors
    /// If this LLVM has no such target.
    pub fn new(context: &'c Context, target: &Target<'_>) -> Result<Self, LlvmError> {
        const DEFAULT: i32 = 0;
        const POSITION_INDEPENDENT: i32 = 2;
        context.llvm().register(target.back_end)?;
        let api = context.api();
        let text = |text: &str| CString::new(text).map_err(|_| LlvmError(format!("`{text}` contains a NUL")));
        let (cpu, features) = (text(target.cpu)?, text(target.features)?);
        let relocation = if target.position_independent { POSITION_INDEPENDENT } else { DEFAULT };
        let (mut found, mut message) = (null_mut(), null_mut());
        // SAFETY: all strings are NUL-terminated and outlive the calls; `message` is ours.
        let raw = unsafe {
            if (api.LLVMGetTargetFromTriple)(target.triple.as_ptr(), &raw mut found, &raw mut message) != 0 {
                return Err(LlvmError(context.llvm().take_message(message)));
            }
            (api.LLVMCreateTargetMachine)(
                found,
                target.triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                target.level as i32,
                relocation,
                DEFAULT,
            )
        };
        if raw.is_null() {
            let name = target.back_end.name();
            return Err(LlvmError(format!("no {name} target machine for {cpu:?}")));
        }
        Ok(Self { context, raw, triple: target.triple.to_owned() })
    }

    /// A code generator for functions of this process, with all that its processor has.
    ///
    /// # Errors
    /// If this LLVM has no back end for it.
    pub fn host(context: &'c Context, level: Level) -> Result<Self, LlvmError> {
        let Some(back_end) = BackEnd::host() else {
            let architecture = std::env::consts::ARCH;
            return Err(LlvmError(format!("code for {architecture} is not compiled here")));
        };
        let triple = CString::new(format!("{}-unknown-linux-gnu", std::env::consts::ARCH)).unwrap_or_default();
        let (cpu, features) = context.llvm().host();
        Self::new(
            context,
            &Target { back_end, triple: &triple, cpu: &cpu, features: &features, level, position_independent: true },
        )
    }

    /// LLVM's own handle, which lives as long as this machine.
    pub fn raw(&self) -> api::TargetMachineRef {
        self.raw
    }

    /// Leaves comments out of assembly.
    pub fn terse(self) -> Self {
        // SAFETY: the machine is alive.
        unsafe { (self.context.api().LLVMSetTargetMachineAsmVerbosity)(self.raw, 0) };
        self
    }

    /// Gives the module this machine's triple and data layout.
    pub fn adopt(&self, module: &Module<'c>) {
        let api = self.context.api();
        // SAFETY: the module and the machine are alive; the layout string is ours to free.
        unsafe {
            let layout = (api.LLVMCreateTargetDataLayout)(self.raw);
            let text = (api.LLVMCopyStringRepOfTargetData)(layout);
            (api.LLVMSetTarget)(module.raw(), self.triple.as_ptr());
            (api.LLVMSetDataLayout)(module.raw(), text);
            (api.LLVMDisposeMessage)(text);
            (api.LLVMDisposeTargetData)(layout);
        }
    }

    /// Writes the module's code. Code generation changes the module, so it is consumed.
    ///
    /// # Errors
    /// If the target cannot express the module's code. Where LLVM calls this a fatal error, only [`Llvm::guarded`]
    /// returns.
    pub fn emit(&self, module: Module<'c>, output: Output) -> Result<Vec<u8>, LlvmError> {
        let api = self.context.api();
        let kind = match output {
            Output::Assembly => 0,
            Output::Object => 1,
        };
        let (mut message, mut buffer) = (null_mut(), null_mut());
        // SAFETY: module and machine belong to the same context; on success the buffer is ours.
        let bytes = unsafe {
            let failed = (api.LLVMTargetMachineEmitToMemoryBuffer)(
                self.raw,
                module.raw(),
                kind,
                &raw mut message,
                &raw mut buffer,
            );
            if failed != 0 {
                return Err(LlvmError(self.context.llvm().take_message(message)));
            }
            take_buffer(api, buffer)
        };
        self.context.check()?;
        Ok(bytes)
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        // SAFETY: the machine is ours and is not used again.
        unsafe { (self.context.api().LLVMDisposeTargetMachine)(self.raw) }
    }
}
