//! Replaces functions that the compiler generates by better functions of a device library.
//!
//! # Panics
//!
//! `core` formats its panic messages, and the formatting code costs a kernel registers and stack even when nothing
//! panics. A device library can define `__rumba_NAME` with the signature of a function `NAME` of `core` that never
//! returns; it then takes that function's place, as in `core::panicking::panic_bounds_check(index, length, location)`.
//!
//! `__rumba___rust_alloc_error_handler` likewise is what a failed allocation comes to, if a kernel allocates.
//!
//! Replacements and what of `core` leads to them are inlined: a function with a call in it, even one that never happens,
//! is given the registers and the stack that the calling convention asks for.
//!
//! # Remainders
//!
//! Rust's `%` of floating-point numbers is exact. LLVM's `frem` for this target is not: it takes a rounded quotient, whose
//! error shows where the quotient is large. `__rumba_rem_f32` and `__rumba_rem_f64` take its place.
//!
//! # Numbers of 16 bits
//!
//! The crate `half` has instructions for some processors, and computes with integers on all others, this one among them.
//! Its conversions and operators are replaced by LLVM's.

use std::collections::HashMap;

use super::Failure;
use crate::llvm::{Machine, Module, Opcode, Value};

/// LLVM's arithmetic of 16-bit numbers.
const HALVES: &str = include_str!("halves.ll");

/// The functions of the crate `half` that are replaced: the replacement for each type, and the paths of the function.
/// If the compiler has inlined one path into another, the outer path remains.
const HALF: [(&str, &[&str]); 8] = [
    ("{}_to_f32", &["half::{module}::{}_to_f32", "half::{module}::{}_to_f32_fallback", "<half::{file}::{}>::to_f32"]),
    ("f32_to_{}", &["half::{module}::f32_to_{}", "half::{module}::f32_to_{}_fallback", "<half::{file}::{}>::from_f32"]),
    ("{}_to_f64", &["half::{module}::{}_to_f64", "half::{module}::{}_to_f64_fallback", "<half::{file}::{}>::to_f64"]),
    ("f64_to_{}", &["half::{module}::f64_to_{}", "half::{module}::f64_to_{}_fallback", "<half::{file}::{}>::from_f64"]),
    ("add_{}", &["<half::{file}::{} as core::ops::arith::Add>::add"]),
    ("sub_{}", &["<half::{file}::{} as core::ops::arith::Sub>::sub"]),
    ("mul_{}", &["<half::{file}::{} as core::ops::arith::Mul>::mul"]),
    ("div_{}", &["<half::{file}::{} as core::ops::arith::Div>::div"]),
];

/// Replacements are recognised by this prefix.
const PREFIX: &str = "__rumba_";

/// The function that ends a thread, by which all replacements end.
const RAISE: &str = "__rumba_raise";

/// As `RAISE`, without a message.
const RAISE_SILENTLY: &str = "__rumba_raise_silently";

/// Points the callers of `core`'s panic functions at their replacements, with messages for the host or without.
pub(super) fn panics(module: &Module<'_>, messages: bool) {
    if !messages && let (Some(raise), Some(silent)) = (module.function(RAISE), module.function(RAISE_SILENTLY)) {
        raise.replace_uses_with(silent);
    }
    for function in module.functions() {
        if !function.never_returns() {
            continue;
        }
        let symbol = function.name();
        if symbol.starts_with(RAISE) {
            continue;
        }
        if symbol.starts_with(PREFIX) {
            function.always_inline();
            continue;
        }
        let path = format!("{:#}", rustc_demangle::demangle(&symbol));
        // The compiler makes the second for whole programs only, which are not made here.
        if !path.starts_with("core::") && !path.starts_with("__rustc::") {
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
                && !callee.name().starts_with(RAISE)
            {
                instruction.allow_inlining(callee);
            }
        }
    }
}

/// Inlines what a thread that panics does. After the optimiser, which then has that code once and not at each place that
/// may panic, in each function around it.
pub(super) fn raise<'c>(module: &Module<'c>, machine: &Machine<'c>) -> Result<(), Failure> {
    // The silent one and copies have longer names.
    let raises = |function: Value<'_>| function.name().starts_with(RAISE);
    for function in module.functions() {
        if raises(function) && !function.is_declaration() {
            function.always_inline();
        }
        for instruction in function.instructions() {
            if instruction.opcode() == Opcode::Call
                && let Some(callee) = instruction.callee()
                && raises(callee)
            {
                instruction.allow_inlining(callee);
            }
        }
    }
    Ok(machine.run(module, c"always-inline,function(simplifycfg),globaldce")?)
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

/// Puts LLVM's arithmetic of 16-bit numbers in the place of the crate `half`'s.
pub(super) fn halves<'c>(module: &Module<'c>, machine: &Machine<'c>) -> Result<(), Failure> {
    let mut replacements = HashMap::new();
    for [ty, file, folder] in [["f16", "binary16", "binary16::arch"], ["bf16", "bfloat", "bfloat::convert"]] {
        for (name, paths) in HALF {
            let name = format!("{PREFIX}{}", name.replace("{}", ty));
            for path in paths {
                let path = path.replace("{}", ty).replace("{file}", file).replace("{module}", folder);
                replacements.insert(path, name.clone());
            }
        }
    }
    let slow: Vec<_> = module
        .functions()
        .into_iter()
        .filter_map(|function| {
            let path = format!("{:#}", rustc_demangle::demangle(&function.name()));
            Some((function, replacements.get(&path)?))
        })
        .collect();
    if slow.is_empty() {
        return Ok(());
    }
    let arithmetic = Module::parse(module.context(), HALVES)?;
    machine.adopt(&arithmetic);
    module.link(arithmetic)?;
    for (function, name) in slow {
        if let Some(replacement) = module.function(name).filter(|replacement| replacement.has_type_of(function)) {
            function.replace_uses_with(replacement);
        }
    }
    Ok(())
}

/// Defines what the compiler's allocator shim would: nothing, where a kernel crate brings an allocator.
pub(super) fn allocator(module: &Module<'_>) -> Result<(), Failure> {
    const SHIM: &str = "__rustc::__rust_no_alloc_shim_is_unstable";
    const NOTHING: &str = "define void @__rumba_nothing() alwaysinline nounwind {\n  ret void\n}\n";
    let shim = module
        .functions()
        .into_iter()
        .find(|function| format!("{:#}", rustc_demangle::demangle(&function.name())).starts_with(SHIM));
    let Some(shim) = shim.filter(|shim| shim.is_declaration()) else {
        return Ok(());
    };
    let nothing = Module::parse(module.context(), NOTHING)?;
    module.link(nothing)?;
    if let Some(nothing) = module.function("__rumba_nothing").filter(|nothing| nothing.has_type_of(shim)) {
        shim.replace_uses_with(nothing);
    }
    Ok(())
}
