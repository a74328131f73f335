//! The functions of LLVM's C API that Rumba calls, resolved when the library is loaded.
//!
//! Signatures follow `llvm-c/*.h`. Nothing is wrapped here: the crate gives some of these functions lifetimes and safe names, and
//! `cuda_builder` others. What each does and demands is in LLVM's headers.
#![allow(non_snake_case, missing_docs, reason = "the functions carry LLVM's own names, and its headers document them")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use libloading::Library;

/// Declares the opaque types of the C API, as pointers to types without values.
macro_rules! handles {
    ($($name:ident)*) => {
        mod opaque {
            $(#[derive(Debug)] pub enum $name {})*
        }
        $(pub type $name = *mut opaque::$name;)*
    };
}

handles! {
    Attribute BasicBlock BuilderRef ContextRef DiagnosticInfo ErrorRef MemoryBuffer Metadata ModuleRef
    PassBuilderOptions TargetDataRef TargetMachineRef TargetRef TypeRef ValueRef
}

/// LLVM's boolean: for most functions that return it, non-zero means failure.
pub type Bool = c_int;

/// Receives warnings and errors of linking and code generation.
pub type DiagnosticHandler = extern "C" fn(DiagnosticInfo, *mut c_void);

/// Called in place of `abort()` when LLVM gives up.
pub type FatalErrorHandler = extern "C" fn(*const c_char);

/// Declares the table of function pointers and the code that fills it.
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// LLVM's C API, resolved once when the library is loaded.
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Keeps the code behind the pointers mapped.
            library: Library,
        }

        impl std::fmt::Debug for Api {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct("Api").finish_non_exhaustive()
            }
        }

        impl Api {
            /// Resolves every function.
            pub(crate) fn resolve(library: Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the signature is the one in LLVM's C headers, which are stable.
                        $name: unsafe { *library.get(concat!(stringify!($name), "\0").as_bytes())? },
                    )*
                    library,
                })
            }
        }
    };
}

/// A function that registers a part of a back end.
type Initialiser = unsafe extern "C" fn();

impl Api {
    /// The functions that register a back end by LLVM's name of it, such as `X86`. Not every build of LLVM has all back ends.
    pub(crate) fn initialisers(&self, back_end: &str) -> Result<[Initialiser; 4], libloading::Error> {
        let find = |part: &str| {
            let name = format!("LLVMInitialize{back_end}{part}\0");
            // SAFETY: the signature is that of llvm-c/Target.h, and what the pointer leads to stays mapped: an `Api` is never dropped.
            unsafe { self.library.get::<Initialiser>(name.as_bytes()).map(|function| *function) }
        };
        Ok([find("TargetInfo")?, find("Target")?, find("TargetMC")?, find("AsmPrinter")?])
    }
}

functions! {
    LLVMGetVersion(*mut c_uint, *mut c_uint, *mut c_uint);
    LLVMContextCreate() -> ContextRef;
    LLVMContextDispose(ContextRef);
    LLVMContextSetDiagnosticHandler(ContextRef, Option<DiagnosticHandler>, *mut c_void);
    LLVMGetDiagInfoDescription(DiagnosticInfo) -> *mut c_char;
    LLVMGetDiagInfoSeverity(DiagnosticInfo) -> c_int;
    LLVMInstallFatalErrorHandler(FatalErrorHandler);
    LLVMDisposeMessage(*mut c_char);
    LLVMGetErrorMessage(ErrorRef) -> *mut c_char;
    LLVMDisposeErrorMessage(*mut c_char);

    LLVMCreateMemoryBufferWithMemoryRange(*const c_char, usize, *const c_char, Bool) -> MemoryBuffer;
    LLVMCreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> MemoryBuffer;
    LLVMGetBufferStart(MemoryBuffer) -> *const c_char;
    LLVMGetBufferSize(MemoryBuffer) -> usize;
    LLVMDisposeMemoryBuffer(MemoryBuffer);
    LLVMGetBitcodeModuleInContext2(ContextRef, MemoryBuffer, *mut ModuleRef) -> Bool;
    LLVMParseIRInContext(ContextRef, MemoryBuffer, *mut ModuleRef, *mut *mut c_char) -> Bool;

    LLVMModuleCreateWithNameInContext(*const c_char, ContextRef) -> ModuleRef;
    LLVMDisposeModule(ModuleRef);
    LLVMWriteBitcodeToMemoryBuffer(ModuleRef) -> MemoryBuffer;
    LLVMLinkModules2(ModuleRef, ModuleRef) -> Bool;
    LLVMStripModuleDebugInfo(ModuleRef) -> Bool;
    LLVMVerifyModule(ModuleRef, c_int, *mut *mut c_char) -> Bool;
    LLVMPrintModuleToString(ModuleRef) -> *mut c_char;
    LLVMSetTarget(ModuleRef, *const c_char);
    LLVMSetDataLayout(ModuleRef, *const c_char);
    LLVMGetNamedFunction(ModuleRef, *const c_char) -> ValueRef;
    LLVMGetFirstFunction(ModuleRef) -> ValueRef;
    LLVMGetNextFunction(ValueRef) -> ValueRef;
    LLVMGetFirstGlobal(ModuleRef) -> ValueRef;
    LLVMGetNextGlobal(ValueRef) -> ValueRef;

    LLVMGetValueName2(ValueRef, *mut usize) -> *const c_char;
    LLVMSetValueName2(ValueRef, *const c_char, usize);
    LLVMTypeOf(ValueRef) -> TypeRef;
    LLVMGetTypeKind(TypeRef) -> c_int;
    LLVMArrayType2(TypeRef, u64) -> TypeRef;
    LLVMInt8TypeInContext(ContextRef) -> TypeRef;
    LLVMGetUndef(TypeRef) -> ValueRef;
    LLVMConstAddrSpaceCast(ValueRef, TypeRef) -> ValueRef;
    LLVMReplaceAllUsesWith(ValueRef, ValueRef);
    LLVMGetFirstUse(ValueRef) -> *mut c_void;

    LLVMIsDeclaration(ValueRef) -> Bool;
    LLVMGlobalGetValueType(ValueRef) -> TypeRef;
    LLVMGetLinkage(ValueRef) -> c_int;
    LLVMSetLinkage(ValueRef, c_int);
    LLVMSetVisibility(ValueRef, c_int);
    LLVMGetSection(ValueRef) -> *const c_char;
    LLVMSetSection(ValueRef, *const c_char);
    LLVMGetAlignment(ValueRef) -> c_uint;
    LLVMSetAlignment(ValueRef, c_uint);
    LLVMAddGlobalInAddressSpace(ModuleRef, TypeRef, *const c_char, c_uint) -> ValueRef;
    LLVMGetInitializer(ValueRef) -> ValueRef;
    LLVMSetInitializer(ValueRef, ValueRef);
    LLVMIsGlobalConstant(ValueRef) -> Bool;
    LLVMSetGlobalConstant(ValueRef, Bool);
    LLVMSetExternallyInitialized(ValueRef, Bool);
    LLVMDeleteGlobal(ValueRef);

    LLVMGetFunctionCallConv(ValueRef) -> c_uint;
    LLVMCreateStringAttribute(ContextRef, *const c_char, c_uint, *const c_char, c_uint) -> Attribute;
    LLVMAddAttributeAtIndex(ValueRef, c_uint, Attribute);
    LLVMGetEnumAttributeKindForName(*const c_char, usize) -> c_uint;
    LLVMCreateEnumAttribute(ContextRef, c_uint, u64) -> Attribute;
    LLVMCreateTypeAttribute(ContextRef, c_uint, TypeRef) -> Attribute;
    LLVMGetEnumAttributeAtIndex(ValueRef, c_uint, c_uint) -> Attribute;
    LLVMRemoveEnumAttributeAtIndex(ValueRef, c_uint, c_uint);
    LLVMRemoveStringAttributeAtIndex(ValueRef, c_uint, *const c_char, c_uint);
    LLVMGetFirstBasicBlock(ValueRef) -> BasicBlock;
    LLVMGetNextBasicBlock(BasicBlock) -> BasicBlock;
    LLVMGetFirstInstruction(BasicBlock) -> ValueRef;
    LLVMGetNextInstruction(ValueRef) -> ValueRef;
    LLVMGetInstructionOpcode(ValueRef) -> c_int;
    LLVMInstructionEraseFromParent(ValueRef);
    LLVMGetOperand(ValueRef, c_uint) -> ValueRef;
    LLVMGetOrdering(ValueRef) -> c_int;
    LLVMGetAtomicRMWBinOp(ValueRef) -> c_int;
    LLVMGetAtomicSyncScopeID(ValueRef) -> c_uint;
    LLVMGetSyncScopeID(ContextRef, *const c_char, usize) -> c_uint;
    LLVMGetPointerAddressSpace(TypeRef) -> c_uint;
    LLVMGetIntTypeWidth(TypeRef) -> c_uint;
    LLVMGetElementType(TypeRef) -> TypeRef;
    LLVMGetVectorSize(TypeRef) -> c_uint;
    LLVMIsAFunction(ValueRef) -> ValueRef;
    LLVMIsAGlobalVariable(ValueRef) -> ValueRef;
    LLVMGetValueKind(ValueRef) -> c_int;
    LLVMIsConstantString(ValueRef) -> Bool;
    LLVMGetAsString(ValueRef, *mut usize) -> *const c_char;
    LLVMConstInt(TypeRef, u64, Bool) -> ValueRef;
    LLVMIsAConstantInt(ValueRef) -> ValueRef;
    LLVMConstIntGetZExtValue(ValueRef) -> u64;
    LLVMGetFastMathFlags(ValueRef) -> c_uint;
    LLVMSetFastMathFlags(ValueRef, c_uint);
    LLVMGetCalledValue(ValueRef) -> ValueRef;
    LLVMGetInlineAsmAsmString(ValueRef, *mut usize) -> *const c_char;
    LLVMRemoveCallSiteEnumAttribute(ValueRef, c_uint, c_uint);
    LLVMGetNumOperands(ValueRef) -> c_int;
    LLVMCreateBuilderInContext(ContextRef) -> BuilderRef;
    LLVMPositionBuilderBefore(BuilderRef, ValueRef);
    LLVMBuildCall2(BuilderRef, TypeRef, ValueRef, *const ValueRef, c_uint, *const c_char) -> ValueRef;
    LLVMDisposeBuilder(BuilderRef);

    LLVMInstructionGetDebugLoc(ValueRef) -> Metadata;
    LLVMInstructionSetDebugLoc(ValueRef, Metadata);
    LLVMDILocationGetInlinedAt(Metadata) -> Metadata;
    LLVMDILocationGetScope(Metadata) -> Metadata;
    LLVMDIScopeGetFile(Metadata) -> Metadata;
    LLVMDIFileGetDirectory(Metadata, *mut c_uint) -> *const c_char;
    LLVMDIFileGetFilename(Metadata, *mut c_uint) -> *const c_char;

    LLVMGetHostCPUName() -> *mut c_char;
    LLVMGetHostCPUFeatures() -> *mut c_char;
    LLVMGetTargetFromTriple(*const c_char, *mut TargetRef, *mut *mut c_char) -> Bool;
    LLVMCreateTargetMachine(TargetRef, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> TargetMachineRef;
    LLVMDisposeTargetMachine(TargetMachineRef);
    LLVMSetTargetMachineAsmVerbosity(TargetMachineRef, Bool);
    LLVMCreateTargetDataLayout(TargetMachineRef) -> TargetDataRef;
    LLVMCopyStringRepOfTargetData(TargetDataRef) -> *mut c_char;
    LLVMDisposeTargetData(TargetDataRef);
    LLVMTargetMachineEmitToMemoryBuffer(TargetMachineRef, ModuleRef, c_int, *mut *mut c_char, *mut MemoryBuffer) -> Bool;

    LLVMCreatePassBuilderOptions() -> PassBuilderOptions;
    LLVMPassBuilderOptionsSetLoopVectorization(PassBuilderOptions, Bool);
    LLVMPassBuilderOptionsSetLoopInterleaving(PassBuilderOptions, Bool);
    LLVMPassBuilderOptionsSetLoopUnrolling(PassBuilderOptions, Bool);
    LLVMDisposePassBuilderOptions(PassBuilderOptions);
    LLVMRunPasses(ModuleRef, *const c_char, TargetMachineRef, PassBuilderOptions) -> ErrorRef;
}
