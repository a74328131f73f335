//! Answers to `__nvvm_reflect("…")`, with which libdevice asks how it is being compiled.
//!
//! LLVM has a pass for this, but it answers two of the four questions and says 0 to the rest: square
//! roots would become approximations that were not asked for.

use super::Codegen;
use crate::arch::NvvmArch;
use crate::llvm::Module;

/// Replaces the calls by constants. Before the optimiser, which then drops the other branch.
pub(super) fn answer(module: &Module<'_>, arch: NvvmArch, codegen: &Codegen) {
    for function in module.functions() {
        for instruction in function.instructions() {
            let asks = instruction
                .callee()
                .is_some_and(|callee| matches!(callee.name().as_str(), "__nvvm_reflect" | "__nvvm_reflect_ocl"));
            if !asks {
                continue;
            }
            // NVVM IR Specification, "NVVM Reflect"; libdevice User's Guide, "Reflection Parameters".
            let answer = match instruction.string_argument().as_deref() {
                Some("__CUDA_FTZ") => u64::from(codegen.ftz),
                Some("__CUDA_PREC_SQRT") => u64::from(!codegen.fast_sqrt),
                Some("__CUDA_PREC_DIV") => u64::from(!codegen.fast_div),
                Some("__CUDA_ARCH") => u64::from(arch.capability() * 10),
                Some(_) => 0,
                // Not a constant: the missing function will be reported.
                None => continue,
            };
            instruction.replace_with_integer(answer);
        }
    }
}
