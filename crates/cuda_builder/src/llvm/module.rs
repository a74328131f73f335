//! Modules and the values in them.

use std::ffi::{CStr, CString, c_char, c_uint};

use rumba_llvm::api;

use super::{Context, LlvmError};

/// The linkages that the link stage sets or asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Linkage {
    External,
    LinkOnceOdr,
    Internal,
    /// Any other: private, weak, appending.
    Other(i32),
}

impl Linkage {
    fn from_raw(raw: i32) -> Self {
        match raw {
            0 => Self::External,
            3 => Self::LinkOnceOdr,
            8 => Self::Internal,
            other => Self::Other(other),
        }
    }

    fn raw(self) -> i32 {
        match self {
            Self::External => 0,
            Self::LinkOnceOdr => 3,
            Self::Internal => 8,
            Self::Other(other) => other,
        }
    }

    /// Whether the symbol is invisible outside its module (internal or private).
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::Internal | Self::Other(9))
    }
}

/// The instructions that the link stage looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    AtomicRmw,
    Call,
    FAdd,
    FSub,
    FMul,
    FDiv,
    FRem,
    Other,
}

/// Bits of LLVM's fast-math flags.
pub(crate) struct FastMath;

impl FastMath {
    /// `contract`: a product may be fused with the sum that uses it.
    pub(crate) const CONTRACT: u32 = 1 << 5;
    /// `afn`: an approximation may stand for the exact function.
    pub(crate) const APPROXIMATE: u32 = 1 << 6;
}

/// A module of LLVM IR whose values can be reached.
pub(crate) struct Module<'c>(rumba_llvm::Module<'c>);

impl<'c> std::ops::Deref for Module<'c> {
    type Target = rumba_llvm::Module<'c>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'c> Module<'c> {
    /// An empty module.
    pub(crate) fn new(context: &'c Context, name: &CStr) -> Self {
        Self(rumba_llvm::Module::new(context, name))
    }

    /// Reads bitcode. Function bodies are read, from where they are, when something first needs them.
    pub(crate) fn read(context: &'c Context, bitcode: &'c [u8]) -> Result<Self, LlvmError> {
        // SAFETY: the bitcode of crates is the compiler's, that of NVIDIA's libdevice came with its checksum, and any other is ours.
        unsafe { rumba_llvm::Module::read(context, bitcode) }.map(Self)
    }

    /// Reads LLVM assembly.
    pub(crate) fn parse(context: &'c Context, text: &str) -> Result<Self, LlvmError> {
        rumba_llvm::Module::parse(context, text).map(Self)
    }

    /// Links `source` into this module.
    pub(crate) fn link(&self, source: Self) -> Result<(), LlvmError> {
        self.0.link(source.0)
    }

    /// LLVM's module, to be consumed.
    pub(super) fn into_inner(self) -> rumba_llvm::Module<'c> {
        self.0
    }

    fn value(&self, raw: api::ValueRef) -> Option<Value<'c>> {
        let context = self.context();
        (!raw.is_null()).then_some(Value { context, raw })
    }

    /// The functions, in the order of the module. A snapshot: changing linkage, adding or removing
    /// functions does not disturb it.
    pub(crate) fn functions(&self) -> Vec<Value<'c>> {
        let api = self.context().api();
        // SAFETY: walks the module's list, which nothing changes meanwhile.
        std::iter::successors(
            self.value(unsafe { (api.LLVMGetFirstFunction)(self.raw()) }),
            // SAFETY: as above.
            |f| self.value(unsafe { (api.LLVMGetNextFunction)(f.raw) }),
        )
        .collect()
    }

    /// The global variables, as [`functions`](Self::functions).
    pub(crate) fn globals(&self) -> Vec<Value<'c>> {
        let api = self.context().api();
        // SAFETY: walks the module's list, which nothing changes meanwhile.
        std::iter::successors(
            self.value(unsafe { (api.LLVMGetFirstGlobal)(self.raw()) }),
            // SAFETY: as above.
            |g| self.value(unsafe { (api.LLVMGetNextGlobal)(g.raw) }),
        )
        .collect()
    }

    /// A function by name.
    pub(crate) fn function(&self, name: &str) -> Option<Value<'c>> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name is NUL-terminated.
        self.value(unsafe { (self.context().api().LLVMGetNamedFunction)(self.raw(), name.as_ptr()) })
    }

    /// Re-creates a global variable in another address space. Its uses see the new one through an
    /// `addrspacecast`, which the optimiser propagates to the loads and stores.
    ///
    /// With `defined` false the new variable is a declaration of a zero-length array.
    pub(crate) fn move_to_address_space(
        &self,
        global: Value<'c>,
        space: c_uint,
        initialiser: Initialiser,
    ) -> Value<'c> {
        let api = self.context().api();
        let name = CString::new(global.name()).unwrap_or_default();
        // SAFETY: the global belongs to this module; its uses are redirected before it is deleted,
        // and `global` is consumed here.
        unsafe {
            let ty = (api.LLVMGlobalGetValueType)(global.raw);
            let ty = if initialiser == Initialiser::Declaration {
                (api.LLVMArrayType2)((api.LLVMInt8TypeInContext)(self.context().raw()), 0)
            } else {
                ty
            };
            (api.LLVMSetValueName2)(global.raw, c"".as_ptr(), 0);
            let new = (api.LLVMAddGlobalInAddressSpace)(self.raw(), ty, name.as_ptr(), space);
            (api.LLVMSetAlignment)(new, (api.LLVMGetAlignment)(global.raw));
            match initialiser {
                Initialiser::Undefined => {
                    (api.LLVMSetInitializer)(new, (api.LLVMGetUndef)(ty));
                    // The memory holds unspecified bytes: reading it before the
                    // first write is not undefined.
                    (api.LLVMSetExternallyInitialized)(new, 1);
                }
                Initialiser::Same => {
                    let value = (api.LLVMGetInitializer)(global.raw);
                    (api.LLVMSetInitializer)(new, value);
                    (api.LLVMSetGlobalConstant)(new, (api.LLVMIsGlobalConstant)(global.raw));
                }
                Initialiser::Declaration => {}
            }
            (api.LLVMSetLinkage)(
                new,
                match initialiser {
                    Initialiser::Declaration => Linkage::External.raw(),
                    _ => (api.LLVMGetLinkage)(global.raw),
                },
            );
            let generic = (api.LLVMTypeOf)(global.raw);
            (api.LLVMReplaceAllUsesWith)(global.raw, (api.LLVMConstAddrSpaceCast)(new, generic));
            (api.LLVMDeleteGlobal)(global.raw);
            Value { context: self.context(), raw: new }
        }
    }
}

/// The initial value of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Initialiser {
    /// Nothing defined.
    Undefined,
    /// The initial value of the original variable.
    Same,
    /// The variable becomes an external array whose size the launch gives.
    Declaration,
}

/// A function or a global variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value<'c> {
    context: &'c Context,
    raw: api::ValueRef,
}

impl<'c> Value<'c> {
    fn api(self) -> &'static api::Api {
        self.context.api()
    }

    /// The symbol, empty for an anonymous value.
    pub(crate) fn name(self) -> String {
        let mut length = 0;
        // SAFETY: the value is alive; the name is `length` bytes and is copied at once.
        unsafe {
            let start = (self.api().LLVMGetValueName2)(self.raw, &raw mut length);
            let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length);
            String::from_utf8_lossy(bytes).into_owned()
        }
    }

    /// Renames the symbol. LLVM appends a number if the name is taken.
    pub(crate) fn set_name(self, name: &str) {
        // SAFETY: the name is copied.
        unsafe { (self.api().LLVMSetValueName2)(self.raw, name.as_ptr().cast(), name.len()) }
    }

    pub(crate) fn linkage(self) -> Linkage {
        // SAFETY: functions and variables are globals, which have a linkage.
        Linkage::from_raw(unsafe { (self.api().LLVMGetLinkage)(self.raw) })
    }

    /// Sets the linkage, and the default visibility that goes with it.
    pub(crate) fn set_linkage(self, linkage: Linkage) {
        const DEFAULT_VISIBILITY: i32 = 0;
        // SAFETY: as for `linkage`.
        unsafe {
            (self.api().LLVMSetVisibility)(self.raw, DEFAULT_VISIBILITY);
            (self.api().LLVMSetLinkage)(self.raw, linkage.raw());
        }
    }

    pub(crate) fn is_declaration(self) -> bool {
        // SAFETY: as for `linkage`.
        unsafe { (self.api().LLVMIsDeclaration)(self.raw) != 0 }
    }

    pub(crate) fn is_used(self) -> bool {
        // SAFETY: the value is alive.
        unsafe { !(self.api().LLVMGetFirstUse)(self.raw).is_null() }
    }

    /// The section a variable asks for.
    pub(crate) fn section(self) -> String {
        // SAFETY: the section is null or a NUL-terminated string, copied at once.
        unsafe {
            let section = (self.api().LLVMGetSection)(self.raw);
            if section.is_null() {
                return String::new();
            }
            CStr::from_ptr(section).to_string_lossy().into_owned()
        }
    }

    /// Removes the section.
    pub(crate) fn clear_section(self) {
        // SAFETY: an empty name means no section.
        unsafe { (self.api().LLVMSetSection)(self.raw, c"".as_ptr()) }
    }

    /// The address space that a variable lies in.
    pub(crate) fn address_space(self) -> c_uint {
        // SAFETY: the value of a global variable is a pointer.
        unsafe { (self.api().LLVMGetPointerAddressSpace)((self.api().LLVMTypeOf)(self.raw)) }
    }

    /// Whether a global variable never changes.
    pub(crate) fn is_constant(self) -> bool {
        // SAFETY: the value is a global variable.
        unsafe { (self.api().LLVMIsGlobalConstant)(self.raw) != 0 }
    }

    /// The bytes that a variable starts with, where they are a constant array of bytes.
    pub(crate) fn constant_bytes(self) -> Option<Vec<u8>> {
        let api = self.api();
        // SAFETY: called for global variables; the bytes are copied at once.
        unsafe { initial_bytes(api, self.raw).map(<[u8]>::to_vec) }
    }

    /// Removes a variable that nothing uses.
    pub(crate) fn delete(self) {
        // SAFETY: called for global variables without uses; the value is consumed here.
        unsafe { (self.api().LLVMDeleteGlobal)(self.raw) }
    }

    /// Marks a variable as written from outside before a kernel runs.
    pub(crate) fn set_externally_initialised(self) {
        // SAFETY: called for global variables.
        unsafe { (self.api().LLVMSetExternallyInitialized)(self.raw, 1) }
    }

    /// Whether the function has the calling convention of a kernel.
    pub(crate) fn is_kernel(self) -> bool {
        const PTX_KERNEL: c_uint = 71;
        // SAFETY: called for functions.
        unsafe { (self.api().LLVMGetFunctionCallConv)(self.raw) == PTX_KERNEL }
    }

    /// Whether two functions have the same type.
    pub(crate) fn has_type_of(self, other: Self) -> bool {
        // SAFETY: both are functions.
        unsafe { (self.api().LLVMGlobalGetValueType)(self.raw) == (self.api().LLVMGlobalGetValueType)(other.raw) }
    }

    /// Makes every use of this function a use of `other`.
    pub(crate) fn replace_uses_with(self, other: Self) {
        // SAFETY: both are pointers in the generic address space of one context.
        unsafe { (self.api().LLVMReplaceAllUsesWith)(self.raw, other.raw) }
    }

    /// Adds a string attribute to a function.
    pub(crate) fn add_attribute(self, name: &str, value: &str) {
        // SAFETY: both strings are copied; the index is the function's own.
        unsafe {
            let attribute = (self.api().LLVMCreateStringAttribute)(
                self.context.raw(),
                name.as_ptr().cast(),
                name.len() as c_uint,
                value.as_ptr().cast(),
                value.len() as c_uint,
            );
            (self.api().LLVMAddAttributeAtIndex)(self.raw, c_uint::MAX, attribute);
        }
    }

    /// Makes a parameter of a kernel, a pointer, one of `bytes` bytes that is passed by value and stays where the launch
    /// put it: `__grid_constant__`.
    pub(crate) fn pass_by_value(self, parameter: u32, bytes: u64, align: u64) {
        const GRID_CONSTANT: &str = "nvvm.grid_constant";
        let (api, context) = (self.api(), self.context.raw());
        // SAFETY: the strings are copied; a function's parameters have the indices from 1 on, and types of LLVM live as long
        // as the context.
        unsafe {
            let memory = (api.LLVMArrayType2)((api.LLVMInt8TypeInContext)(context), bytes);
            let attributes = [
                (api.LLVMCreateTypeAttribute)(context, self.attribute_kind("byval"), memory),
                (api.LLVMCreateEnumAttribute)(context, self.attribute_kind("align"), align),
                (api.LLVMCreateStringAttribute)(
                    context,
                    GRID_CONSTANT.as_ptr().cast(),
                    GRID_CONSTANT.len() as c_uint,
                    c"".as_ptr(),
                    0,
                ),
            ];
            for attribute in attributes {
                (api.LLVMAddAttributeAtIndex)(self.raw, parameter + 1, attribute);
            }
        }
    }

    /// Removes a string attribute from a function.
    pub(crate) fn remove_attribute(self, name: &str) {
        // SAFETY: the string is only read; the index is the function's own.
        unsafe {
            (self.api().LLVMRemoveStringAttributeAtIndex)(
                self.raw,
                c_uint::MAX,
                name.as_ptr().cast(),
                name.len() as c_uint,
            );
        }
    }

    /// Whether a function never returns.
    pub(crate) fn never_returns(self) -> bool {
        let kind = self.attribute_kind("noreturn");
        // SAFETY: the index is the function's own; null means that the function lacks the attribute.
        unsafe { !(self.api().LLVMGetEnumAttributeAtIndex)(self.raw, c_uint::MAX, kind).is_null() }
    }

    /// Has a function inlined wherever it is called, whatever it asks for itself.
    pub(crate) fn always_inline(self) {
        let api = self.api();
        // SAFETY: the index is the function's own; removing what is not there does nothing.
        unsafe {
            for name in ["noinline", "optnone", "cold", "minsize", "optsize"] {
                (api.LLVMRemoveEnumAttributeAtIndex)(self.raw, c_uint::MAX, self.attribute_kind(name));
            }
            let attribute = (api.LLVMCreateEnumAttribute)(self.context.raw(), self.attribute_kind("alwaysinline"), 0);
            (api.LLVMAddAttributeAtIndex)(self.raw, c_uint::MAX, attribute);
        }
    }

    pub(super) fn attribute_kind(self, name: &str) -> c_uint {
        // SAFETY: the name is only read; an unknown one gives 0, which is no attribute.
        unsafe { (self.api().LLVMGetEnumAttributeKindForName)(name.as_ptr().cast(), name.len()) }
    }

    /// The instructions of a function, block by block.
    pub(crate) fn instructions(self) -> Vec<Instruction<'c>> {
        let api = self.api();
        let mut all = Vec::new();
        // SAFETY: walks the lists of a live function, which nothing changes meanwhile.
        unsafe {
            let mut block = (api.LLVMGetFirstBasicBlock)(self.raw);
            while !block.is_null() {
                let mut raw = (api.LLVMGetFirstInstruction)(block);
                while !raw.is_null() {
                    all.push(Instruction { context: self.context, raw });
                    raw = (api.LLVMGetNextInstruction)(raw);
                }
                block = (api.LLVMGetNextBasicBlock)(block);
            }
        }
        all
    }
}

/// The bytes that a variable starts with, where they are a constant array of bytes.
///
/// # Safety
///
/// `global` is a live global variable, and its initialiser is not changed while the bytes are used.
unsafe fn initial_bytes<'g>(api: &'static api::Api, global: api::ValueRef) -> Option<&'g [u8]> {
    const CONSTANT_DATA_ARRAY: i32 = 16;
    // SAFETY: each value is checked to be of the kind that the next function needs.
    unsafe {
        let initialiser = (api.LLVMGetInitializer)(global);
        if initialiser.is_null()
            || (api.LLVMGetValueKind)(initialiser) != CONSTANT_DATA_ARRAY
            || (api.LLVMIsConstantString)(initialiser) == 0
        {
            return None;
        }
        let mut length = 0;
        let start = (api.LLVMGetAsString)(initialiser, &raw mut length);
        Some(std::slice::from_raw_parts(start.cast::<u8>(), length))
    }
}

/// One instruction of a function.
#[derive(Clone, Copy)]
pub(crate) struct Instruction<'c> {
    context: &'c Context,
    raw: api::ValueRef,
}

impl<'c> Instruction<'c> {
    pub(super) fn api(self) -> &'static api::Api {
        self.context.api()
    }

    pub(super) fn context(self) -> &'c Context {
        self.context
    }

    pub(super) fn raw(self) -> api::ValueRef {
        self.raw
    }

    pub(crate) fn opcode(self) -> Opcode {
        // SAFETY: the instruction is alive.
        match unsafe { (self.api().LLVMGetInstructionOpcode)(self.raw) } {
            9 => Opcode::FAdd,
            11 => Opcode::FSub,
            13 => Opcode::FMul,
            16 => Opcode::FDiv,
            19 => Opcode::FRem,
            45 => Opcode::Call,
            57 => Opcode::AtomicRmw,
            _ => Opcode::Other,
        }
    }

    /// The function that a call names directly.
    pub(crate) fn callee(self) -> Option<Value<'c>> {
        if self.opcode() != Opcode::Call {
            return None;
        }
        // SAFETY: the instruction is a call, and has a callee; the answer is null if that is no function.
        let raw = unsafe { (self.api().LLVMIsAFunction)((self.api().LLVMGetCalledValue)(self.raw)) };
        (!raw.is_null()).then_some(Value { context: self.context, raw })
    }

    /// The text of inline assembly.
    pub(crate) fn assembly(self) -> Option<String> {
        const INLINE_ASM: i32 = 23;
        if self.opcode() != Opcode::Call {
            return None;
        }
        let api = self.api();
        // SAFETY: the instruction is a call, and what it calls is asked first whether it is inline assembly; the text is copied
        // at once.
        unsafe {
            let called = (api.LLVMGetCalledValue)(self.raw);
            if (api.LLVMGetValueKind)(called) != INLINE_ASM {
                return None;
            }
            let mut length = 0;
            let start = (api.LLVMGetInlineAsmAsmString)(called, &raw mut length);
            let text = std::slice::from_raw_parts(start.cast::<u8>(), length);
            Some(String::from_utf8_lossy(text).into_owned())
        }
    }

    /// Takes back what a call says against inlining.
    pub(crate) fn allow_inlining(self, callee: Value<'c>) {
        // SAFETY: called for calls; the index is the function's own, and removing what is not there does nothing.
        unsafe {
            (self.context.api().LLVMRemoveCallSiteEnumAttribute)(
                self.raw,
                c_uint::MAX,
                callee.attribute_kind("noinline"),
            );
        }
    }

    /// The text that the first argument of a call points at, without its final NUL, where that is a
    /// constant.
    pub(crate) fn string_argument(self) -> Option<String> {
        if self.opcode() != Opcode::Call {
            return None;
        }
        let api = self.api();
        // SAFETY: a call has at least one operand, the callee; the text is copied at once.
        unsafe {
            let global = (api.LLVMIsAGlobalVariable)((api.LLVMGetOperand)(self.raw, 0));
            if global.is_null() {
                return None;
            }
            let bytes = initial_bytes(api, global)?;
            let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
            Some(String::from_utf8_lossy(text).into_owned())
        }
    }

    /// The first argument of a call, where that is a constant integer.
    pub(crate) fn integer_argument(self) -> Option<u64> {
        if self.opcode() != Opcode::Call {
            return None;
        }
        let api = self.api();
        // SAFETY: a call has at least one operand, the callee; the answer is null if that is no constant integer.
        unsafe {
            let integer = (api.LLVMIsAConstantInt)((api.LLVMGetOperand)(self.raw, 0));
            (!integer.is_null()).then(|| (api.LLVMConstIntGetZExtValue)(integer))
        }
    }

    /// Puts an integer in the place of the instruction and removes it.
    pub(crate) fn replace_with_integer(self, value: u64) {
        let api = self.api();
        // SAFETY: the instruction's result is an integer, as the caller knows of the function called;
        // nothing uses the instruction afterwards, and it is consumed here.
        unsafe {
            let integer = (api.LLVMConstInt)((api.LLVMTypeOf)(self.raw), value, 0);
            (api.LLVMReplaceAllUsesWith)(self.raw, integer);
            (api.LLVMInstructionEraseFromParent)(self.raw);
        }
    }

    /// Puts a call of a function with the instruction's operands in its place.
    pub(crate) fn replace_with_call(self, function: Value<'c>) {
        let api = self.api();
        // SAFETY: the function takes what the instruction's operands are and gives what it gives, say
        // the callers; the builder is ours, and takes the position in the source with it.
        unsafe {
            let operands = (api.LLVMGetNumOperands)(self.raw);
            let arguments: Vec<_> =
                (0..operands as c_uint).map(|operand| (api.LLVMGetOperand)(self.raw, operand)).collect();
            let builder = (api.LLVMCreateBuilderInContext)(self.context.raw());
            (api.LLVMPositionBuilderBefore)(builder, self.raw);
            let ty = (api.LLVMGlobalGetValueType)(function.raw);
            let count = arguments.len() as c_uint;
            let call = (api.LLVMBuildCall2)(builder, ty, function.raw, arguments.as_ptr(), count, c"".as_ptr());
            (api.LLVMDisposeBuilder)(builder);
            (api.LLVMReplaceAllUsesWith)(self.raw, call);
            (api.LLVMInstructionEraseFromParent)(self.raw);
        }
    }

    /// Whether its result is an `f32`.
    pub(crate) fn is_f32(self) -> bool {
        const FLOAT: i32 = 2;
        self.type_kind() == FLOAT
    }

    /// Whether its result is an `f64`.
    pub(crate) fn is_f64(self) -> bool {
        const DOUBLE: i32 = 3;
        self.type_kind() == DOUBLE
    }

    fn type_kind(self) -> i32 {
        // SAFETY: the instruction is alive, and every value has a type.
        unsafe { (self.api().LLVMGetTypeKind)((self.api().LLVMTypeOf)(self.raw)) }
    }

    /// Adds fast-math flags. Only for floating-point arithmetic and calls that return such a value.
    pub(crate) fn add_fast_math(self, flags: u32) {
        // SAFETY: the instruction is a floating-point operation, as the caller checked.
        unsafe {
            let old = (self.api().LLVMGetFastMathFlags)(self.raw);
            (self.api().LLVMSetFastMathFlags)(self.raw, old | flags);
        }
    }

    /// Where the instruction comes from.
    pub(crate) fn location(self) -> Option<Location<'c>> {
        // SAFETY: the instruction is alive; null means that there is no location.
        let raw = unsafe { (self.api().LLVMInstructionGetDebugLoc)(self.raw) };
        (!raw.is_null()).then_some(Location { context: self.context, raw })
    }

    pub(crate) fn set_location(self, location: Location<'c>) {
        // SAFETY: the location belongs to the same function: it is the instruction's own, or the
        // call it was inlined at.
        unsafe { (self.api().LLVMInstructionSetDebugLoc)(self.raw, location.raw) }
    }
}

/// A position in the source, and where that was inlined.
#[derive(Clone, Copy)]
pub(crate) struct Location<'c> {
    context: &'c Context,
    raw: api::Metadata,
}

impl<'c> Location<'c> {
    /// The call that brought this position here.
    pub(crate) fn inlined_at(self) -> Option<Location<'c>> {
        // SAFETY: `raw` is a DILocation.
        let raw = unsafe { (self.context.api().LLVMDILocationGetInlinedAt)(self.raw) };
        (!raw.is_null()).then_some(Location { context: self.context, raw })
    }

    /// The directory that the compiler ran in, and the file as it was given.
    pub(crate) fn file(self) -> (String, String) {
        let api = self.context.api();
        // SAFETY: `raw` is a DILocation, whose scope is a DIScope; a file's names are as long as LLVM
        // says, and copied at once.
        unsafe {
            let file = (api.LLVMDIScopeGetFile)((api.LLVMDILocationGetScope)(self.raw));
            if file.is_null() {
                return Default::default();
            }
            let text = |get: unsafe extern "C" fn(api::Metadata, *mut c_uint) -> *const c_char| {
                let mut length = 0;
                let start = get(file, &raw mut length);
                if start.is_null() {
                    return String::new();
                }
                let bytes = std::slice::from_raw_parts(start.cast::<u8>(), length as usize);
                String::from_utf8_lossy(bytes).into_owned()
            };
            (text(api.LLVMDIFileGetDirectory), text(api.LLVMDIFileGetFilename))
        }
    }
}

impl PartialEq for Location<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}
