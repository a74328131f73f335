//! Floating-point rules: fusing, flushing, approximating.
//!
//! rustc emits strict IEEE 754 operations. nvcc's defaults differ in one point, which is followed
//! here: a product may be fused with the sum that uses it (`-fmad=true`). The permission is a flag on
//! each instruction, so it survives inlining and can be withheld from code that computes its own
//! rounding errors.

use super::Codegen;
use crate::llvm::{FastMath, Instruction, Module, Opcode};

/// Sets attributes and flags on every function. Before the optimiser, which propagates them.
pub(super) fn prepare(module: &Module<'_>, codegen: &Codegen) {
    for function in module.functions() {
        // rustc names the oldest device here, and LLVM inlines only between equal names. The
        // machine decides for the whole module.
        function.remove_attribute("target-cpu");
        function.remove_attribute("target-features");
        if function.is_declaration() {
            continue;
        }
        if codegen.ftz {
            function.add_attribute("denormal-fp-math-f32", "preserve-sign,preserve-sign");
        }
        let exact = is_exact(&function.name());
        for instruction in function.instructions() {
            match instruction.opcode() {
                Opcode::FAdd | Opcode::FSub | Opcode::FMul if codegen.contract && !exact => {
                    instruction.add_fast_math(FastMath::CONTRACT);
                }
                Opcode::FDiv if codegen.fast_div && instruction.is_f32() => {
                    instruction.add_fast_math(FastMath::APPROXIMATE);
                }
                Opcode::Call if codegen.fast_sqrt && is_square_root(instruction) => {
                    instruction.add_fast_math(FastMath::APPROXIMATE);
                }
                _ => {}
            }
        }
    }
}

fn is_square_root(call: Instruction<'_>) -> bool {
    call.callee().is_some_and(|callee| callee.name() == "llvm.sqrt.f32")
}

/// Whether a function relies on every operation being rounded: the crate `libm`, the compiler's own runtime and libdevice
/// compute error terms as `a * b - product`. Fused, libdevice's `powf` is off by 8 units in the last place instead of 1.
fn is_exact(symbol: &str) -> bool {
    if symbol.starts_with("__nv_") {
        return true;
    }
    let path = format!("{:#}", rustc_demangle::demangle(symbol));
    ["libm::", "<libm::", "compiler_builtins::", "<compiler_builtins::"].iter().any(|prefix| path.starts_with(prefix))
}
