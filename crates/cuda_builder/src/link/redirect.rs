//! What the compiler makes of Rust, and a device library does better.
//!
//! # Panics
//!
//! `core` formats its panic messages, and the formatting code costs a kernel registers and stack even when nothing
//! panics. A device library can define `__rumba_NAME` with the signature of a function `NAME` of `core` that never
//! returns; it then takes that function's place, as in `core::panicking::panic_bounds_check(index, length, location)`.
//!
//! Replacements and what of `core` leads to them are inlined: a function with a call in it, even one that never happens,
//! is given the registers and the stack that the calling convention asks for.
//!
//! # Remainders
//!
//! Rust's `%` of floating-point numbers is exact. LLVM's `frem` for this target is not: it takes a rounded quotient, whose
//! error shows where the quotient is large. `__rumba_rem_f32` and `__rumba_rem_f64` take its place.

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

/// Puts the device library's functions in the place of `frem`, where it has them.
pub(super) fn remainders(module: &Module<'_>) {
    let replacements = ["__rumba_rem_f32", "__rumba_rem_f64"].map(|name| module.function(name));
    for replacement in replacements.into_iter().flatten() {
        replacement.always_inline();
    }
    for function in module.functions() {
        for instruction in function.instructions() {
            let replacement = match instruction.opcode() {
                Opcode::FRem if instruction.is_f32() => replacements[0],
                Opcode::FRem if instruction.is_f64() => replacements[1],
                _ => None,
            };
            if let Some(replacement) = replacement {
                instruction.replace_with_call(replacement);
            }
        }
    }
}
