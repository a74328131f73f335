//! Decides which symbols stay visible, renames the other symbols, and reports missing symbols.

use std::collections::BTreeSet;

use super::memory;
use crate::error::BuildError;
use crate::llvm::{Linkage, Module, Value};

/// Functions that the driver or the device's runtime provides (CUDA C++ Programming Guide,
/// "Formatted Output", "Assertion", "Dynamic Global Memory Allocation").
pub(super) const PROVIDED: [&str; 4] = ["vprintf", "__assertfail", "malloc", "free"];

/// The prefix of the names of nameless constants, perhaps followed by a number.
pub(super) const CONSTANT: &str = "constant";

/// The symbols that can be looked up from outside.
pub(super) struct Symbols {
    /// The kernels, sorted by name.
    pub(super) kernels: Vec<String>,
    /// The statics with a plain name. The host may write to them before a launch.
    pub(super) statics: BTreeSet<String>,
}

/// Hides everything except kernels and statics with a plain name.
///
/// Hidden variables stay external if kernels may write to them: they are one variable for all kernels. They are named here,
/// where all of them are known.
pub(super) fn internalise(module: &Module<'_>) -> Symbols {
    let mut kernels = Vec::new();
    for function in module.functions() {
        if function.is_declaration() {
            continue;
        }
        if function.is_kernel() {
            kernels.push(function.name());
        } else {
            function.set_linkage(Linkage::Internal);
        }
    }
    let mut statics = BTreeSet::new();
    for global in module.globals() {
        let name = global.name();
        if global.is_declaration() || name.starts_with("llvm.") {
            continue;
        }
        if !global.linkage().is_local() && !is_mangled(&name) {
            global.set_externally_initialised();
            statics.insert(name);
        } else if global.is_constant() || memory::is_shared(global) {
            global.set_linkage(Linkage::Internal);
        } else {
            global.set_linkage(Linkage::External);
            rename_one(global);
        }
    }
    kernels.sort();
    Symbols { kernels, statics }
}

/// Whether the compiler made up the symbol, so that no other object can refer to it.
pub(super) fn is_mangled(name: &str) -> bool {
    name.starts_with("_R") || name.starts_with("_ZN") || name.starts_with("__rust")
}

/// Fails if something is used that nothing defines.
pub(super) fn check(module: &Module<'_>) -> Result<(), BuildError> {
    let symbols: Vec<String> = module
        .functions()
        .into_iter()
        .filter(|function| function.is_declaration() && function.is_used())
        .map(Value::name)
        .filter(|name| !name.starts_with("llvm.") && !PROVIDED.contains(&name.as_str()))
        .map(|name| format!("`{:#}`", rustc_demangle::demangle(&name)))
        .collect();
    if symbols.is_empty() { Ok(()) } else { Err(BuildError::Undefined { symbols }) }
}

/// Gives hidden symbols readable names without the compiler's hashes, which differ between machines.
pub(super) fn rename(module: &Module<'_>) {
    for value in module.functions().into_iter().chain(module.globals()) {
        rename_one(value);
    }
}

/// Gives one hidden symbol a readable name. The compiler counts its nameless constants through a whole crate; they are
/// all named [`CONSTANT`].
pub(super) fn rename_one(value: Value<'_>) {
    let name = value.name();
    if is_mangled(&name) {
        value.set_name(&plain(&format!("{:#}", rustc_demangle::demangle(&name))));
    } else if value.linkage().is_local() && (name.starts_with("anon.") || name.starts_with("alloc_")) {
        value.set_name(CONSTANT);
    }
}

/// Makes an identifier of a Rust path: `<f32 as core::ops::Add>::add` becomes `f32_core_ops_Add_add`.
fn plain(path: &str) -> String {
    let mut name = String::with_capacity(path.len());
    for c in path.replace(" as ", "_").chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    // PTX identifiers do not start with a digit.
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn paths_become_identifiers() {
        assert_eq!(plain("core::panicking::panic"), "core_panicking_panic");
        assert_eq!(plain("<f32 as core::ops::Add>::add"), "f32_core_ops_Add_add");
        assert_eq!(plain("{closure#0}"), "closure_0");
        assert_eq!(plain("1"), "_1");
    }
}
