//! Fast mathematics: nvcc's `-use_fast_math`, for a kernel or for all.
//!
//! A kernel asks for it by the section `.fast_math` of its entry. What such kernels call may be called
//! by exact ones too, so the module is copied: the copy keeps the fast kernels, the original the
//! others, and statics stay one. What neither needs goes with the first clean-up.
//!
//! Every function of the copy is marked; `floats` and `reflect` ask for the settings of each function.

use super::{Codegen, Failure};
use crate::llvm::{Linkage, Machine, Module, Value};

/// Where an entry stands that asks for fast mathematics.
const SECTION: &str = ".fast_math";

/// Marks functions with fast mathematics.
const MARK: &str = "rumba-fast-math";

/// The approximate functions, by the prefix and the name of the exact one in C.
const FUNCTIONS: &str = include_str!("fast_math.ll");
const PREFIX: &str = "__rumba_fast_";

/// The settings of one function.
pub(super) fn codegen(function: Value<'_>, codegen: &Codegen) -> Codegen {
    if !function.has_attribute(MARK) {
        return *codegen;
    }
    Codegen {
        contract: true,
        ftz: true,
        fast_div: true,
        fast_sqrt: true,
        ..*codegen
    }
}

/// Gives the kernels that ask for it, or all, fast mathematics.
pub(super) fn separate<'c>(module: &Module<'c>, machine: &Machine<'c>, all: bool) -> Result<(), Failure> {
    let kernels: Vec<(Value<'c>, bool)> = module
        .functions()
        .into_iter()
        .filter(|function| function.is_kernel() && !function.is_declaration())
        .map(|kernel| (kernel, kernel.section() == SECTION))
        .collect();
    for (kernel, _) in kernels.iter().filter(|(_, fast)| *fast) {
        kernel.clear_section();
    }
    if all {
        return approximate(module, machine);
    }
    let fast: Vec<String> = kernels
        .iter()
        .filter(|(_, fast)| *fast)
        .map(|(kernel, _)| kernel.name())
        .collect();
    if fast.is_empty() {
        return Ok(());
    }
    // Constants may be there twice; variables must not.
    for global in module.globals() {
        if global.linkage().is_local() && !global.is_constant() {
            global.set_linkage(Linkage::External);
        }
    }
    let copy = module.duplicate();
    for global in copy.globals() {
        let shared = !global.linkage().is_local() && !global.is_declaration();
        if shared && !global.name().starts_with("llvm.") {
            global.declare();
        }
    }
    approximate(&copy, machine)?;
    for function in copy
        .functions()
        .into_iter()
        .filter(|function| !function.is_declaration())
    {
        if !function.is_kernel() {
            function.set_name(&format!("{}.fast", function.name()));
            function.set_linkage(Linkage::Internal);
        } else if !fast.contains(&function.name()) {
            function.delete_function();
        }
    }
    for (kernel, _) in kernels.into_iter().filter(|(_, fast)| *fast) {
        kernel.delete_function();
    }
    Ok(module.link(copy)?)
}

/// Marks all functions, and puts the approximate functions in the place of the exact ones.
fn approximate<'c>(module: &Module<'c>, machine: &Machine<'c>) -> Result<(), Failure> {
    let approximations = Module::parse(module.context(), FUNCTIONS)?;
    machine.adopt(&approximations);
    module.link(approximations)?;
    for function in module.functions() {
        if let Some(name) = c_name(&function.name())
            && let Some(fast) = module.function(&format!("{PREFIX}{name}"))
            && fast.has_type_of(function)
        {
            function.replace_uses_with(fast);
        }
        if !function.is_declaration() {
            function.add_attribute(MARK, "");
        }
    }
    Ok(())
}

/// The name in C of a function of libdevice or of the crate `libm`.
fn c_name(symbol: &str) -> Option<String> {
    if let Some(name) = symbol.strip_prefix("__nv_") {
        return Some(name.to_owned());
    }
    let path = format!("{:#}", rustc_demangle::demangle(symbol));
    let name = path.strip_prefix("libm::")?.rsplit("::").next()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::c_name;

    #[test]
    fn both_libraries_are_known() {
        assert_eq!(c_name("__nv_sinf").as_deref(), Some("sinf"));
        assert_eq!(c_name("_RNvNtNtCsjVZ_4libm4math4expf4expf").as_deref(), Some("expf"));
        assert_eq!(c_name("sinf"), None);
    }
}
