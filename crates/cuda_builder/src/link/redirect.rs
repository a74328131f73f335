//! Panics of `core` that have a thin replacement.
//!
//! `core` formats its panic messages, and the formatting code costs a kernel registers and stack even
//! when nothing panics. A device library can define `__rumba_NAME` with the signature of a function
//! `NAME` of `core`'s panic paths; it then takes that function's place. The contract covers
//! `core::panicking::panic_bounds_check(index, length, location)`; any other function of the listed
//! modules works the same way.

use crate::llvm::Module;

/// Replacements are recognised by this prefix.
pub(super) const PREFIX: &str = "__rumba_";

/// The modules whose functions may be replaced.
const MODULES: [&str; 4] = [
    "core::panicking::",
    "core::slice::index::",
    "core::option::",
    "core::result::",
];

/// Points the callers of `core`'s panic functions at their replacements.
pub(super) fn panics(module: &Module<'_>) {
    for function in module.functions() {
        let path = format!("{:#}", rustc_demangle::demangle(&function.name()));
        if !MODULES.iter().any(|module| path.starts_with(module)) {
            continue;
        }
        let name = path.rsplit("::").next().unwrap_or_default();
        if let Some(replacement) = module.function(&format!("{PREFIX}{name}"))
            && replacement.has_type_of(function)
        {
            function.replace_uses_with(replacement);
        }
    }
}
