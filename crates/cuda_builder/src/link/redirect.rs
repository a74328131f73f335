//! Panics of `core` that have a thin replacement.
//!
//! `core` formats its panic messages, and the formatting code costs a kernel registers and stack even when nothing
//! panics. A device library can define `__rumba_NAME` with the signature of a function `NAME` of `core` that never
//! returns; it then takes that function's place, as in `core::panicking::panic_bounds_check(index, length, location)`.
//!
//! Replacements and what of `core` leads to them are inlined: a function with a call in it, even one that never happens,
//! is given the registers and the stack that the calling convention asks for.

use crate::llvm::{Module, Opcode};

/// Replacements are recognised by this prefix.
const PREFIX: &str = "__rumba_";

/// Points the callers of `core`'s panic functions at their replacements.
pub(super) fn panics(module: &Module<'_>) {
    for function in module.functions() {
        if !function.never_returns() {
            continue;
        }
        let symbol = function.name();
        if symbol.starts_with(PREFIX) {
            function.always_inline();
            continue;
        }
        let path = format!("{:#}", rustc_demangle::demangle(&symbol));
        if !path.starts_with("core::") {
            continue;
        }
        let name = path.rsplit("::").next().unwrap_or_default();
        match module.function(&format!("{PREFIX}{name}")) {
            Some(replacement) if replacement.has_type_of(function) => function.replace_uses_with(replacement),
            _ if !function.is_declaration() => function.always_inline(),
            _ => {}
        }
    }
    // The compiler forbids inlining at the calls too, since they are cold.
    for function in module.functions() {
        for instruction in function.instructions() {
            if instruction.opcode() == Opcode::Call
                && let Some(callee) = instruction.callee()
                && callee.never_returns()
            {
                instruction.allow_inlining(callee);
            }
        }
    }
}
