//! The parts of an `atomicrmw`.

use super::module::{Instruction, Opcode};

/// An atomic operation that reads, changes and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AtomicRmw {
    /// LLVM's number of the operation.
    pub(crate) operation: i32,
    pub(crate) ordering: Ordering,
    pub(crate) scope: Scope,
    /// The number of the address space.
    pub(crate) space: u32,
    pub(crate) number: Number,
}

/// Orderings, from LLVM's C interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ordering {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
    Sequential,
}

/// The scopes that PTX has on every device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Block,
    Device,
    System,
}

/// The type of the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Integer(u32),
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Other,
}

impl Instruction<'_> {
    /// The parts of the instruction if its opcode is `atomicrmw`.
    pub(crate) fn atomic_rmw(self) -> Option<AtomicRmw> {
        const HALF: i32 = 1;
        const FLOAT: i32 = 2;
        const DOUBLE: i32 = 3;
        const INTEGER: i32 = 8;
        const VECTOR: i32 = 13;
        const BFLOAT: i32 = 18;
        if self.opcode() != Opcode::AtomicRmw {
            return None;
        }
        let api = self.api();
        // SAFETY: the instruction is alive and an `atomicrmw`, whose operands are a pointer and a value.
        unsafe {
            let ty = (api.LLVMTypeOf)(self.raw());
            let scope = |name: &str| (api.LLVMGetSyncScopeID)(self.context().raw(), name.as_ptr().cast(), name.len());
            let own = (api.LLVMGetAtomicSyncScopeID)(self.raw());
            Some(AtomicRmw {
                operation: (api.LLVMGetAtomicRMWBinOp)(self.raw()),
                ordering: match (api.LLVMGetOrdering)(self.raw()) {
                    4 => Ordering::Acquire,
                    5 => Ordering::Release,
                    6 => Ordering::AcquireRelease,
                    7 => Ordering::Sequential,
                    _ => Ordering::Relaxed,
                },
                scope: match own {
                    own if own == scope("block") || own == scope("singlethread") => Scope::Block,
                    own if own == scope("device") => Scope::Device,
                    _ => Scope::System,
                },
                space: (api.LLVMGetPointerAddressSpace)((api.LLVMTypeOf)((api.LLVMGetOperand)(self.raw(), 0))),
                number: match (api.LLVMGetTypeKind)(ty) {
                    HALF => Number::F16,
                    BFLOAT => Number::Bf16,
                    VECTOR if (api.LLVMGetVectorSize)(ty) == 2 => {
                        match (api.LLVMGetTypeKind)((api.LLVMGetElementType)(ty)) {
                            HALF => Number::F16x2,
                            BFLOAT => Number::Bf16x2,
                            _ => Number::Other,
                        }
                    }
                    FLOAT => Number::F32,
                    DOUBLE => Number::F64,
                    INTEGER => Number::Integer((api.LLVMGetIntTypeWidth)(ty)),
                    _ => Number::Other,
                },
            })
        }
    }
}
