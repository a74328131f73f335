//! Answers to code that asks how it is being compiled: libdevice by `__nvvm_reflect("…")`, a device library by
//! `__rumba_arch_has(code)`, whether its text is for an architecture that has all of another one ([`Target::code`]).
//!
//! LLVM has a pass for this, but it answers two of the four questions and says 0 to the rest: square
//! roots would become approximations that were not asked for.

use rumba_ptx::Target;

use super::Codegen;
use crate::arch::NvvmArch;
use crate::llvm::Module;

/// Replaces the calls by constants. Before the optimiser, which then drops the other branch.
pub(super) fn answer(module: &Module<'_>, arch: NvvmArch, codegen: &Codegen) {
    for function in module.functions() {
        for instruction in function.instructions() {
            let Some(callee) = instruction.callee() else {
                continue;
            };
            let answer = match callee.name().as_str() {
                "__nvvm_reflect" | "__nvvm_reflect_ocl" => {
                    instruction.string_argument().map(|question| reflection(&question, arch, codegen))
                }
                "__rumba_arch_has" => instruction.integer_argument().map(|code| u64::from(has(arch, code))),
                _ => continue,
            };
            // Not a constant: the missing function will be reported.
            if let Some(answer) = answer {
                instruction.replace_with_integer(answer);
            }
        }
    }
}

/// NVVM IR Specification, "NVVM Reflect"; libdevice User's Guide, "Reflection Parameters".
fn reflection(question: &str, arch: NvvmArch, codegen: &Codegen) -> u64 {
    match question {
        "__CUDA_FTZ" => u64::from(codegen.ftz),
        "__CUDA_PREC_SQRT" => u64::from(!codegen.fast_sqrt),
        "__CUDA_PREC_DIV" => u64::from(!codegen.fast_div),
        "__CUDA_ARCH" => u64::from(arch.capability() * 10),
        _ => 0,
    }
}

/// Whether an architecture has all of another one.
fn has(arch: NvvmArch, code: u64) -> bool {
    let other = u32::try_from(code).ok().and_then(Target::from_code);
    other.is_some_and(|other| arch.target().includes(other))
}
