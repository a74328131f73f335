//! Fast mathematics: nvcc's `-use_fast_math`, for a kernel or for all.
//!
//! A kernel asks for it by the section `.fast_math` of its entry.

use super::Failure;
use crate::llvm::{Linkage, Machine, Module};

/// Where an entry stands that asks for fast mathematics.
const SECTION: &str = ".fast_math";

/// The approximate functions, by the prefix and the name of the exact one in C.
const FUNCTIONS: &str = include_str!("fast_math.ll");
const PREFIX: &str = "__rumba_fast_";

/// Whether the kernel of a part asks for it. The section has then said what it had to, and goes.
pub(super) fn is_asked(part: &Module<'_>) -> bool {
    let asking = part.functions().into_iter().filter(|function| function.is_kernel() && function.section() == SECTION);
    asking.inspect(|kernel| kernel.clear_section()).count() != 0
}

/// Puts the approximate functions in the place of the exact ones.
pub(super) fn approximate<'c>(module: &Module<'c>, machine: &Machine<'c>) -> Result<(), Failure> {
    let approximations = Module::parse(module.context(), FUNCTIONS)?;
    machine.adopt(&approximations);
    module.link(approximations)?;
    for function in module.functions() {
        if function.name().starts_with(PREFIX) && !function.is_declaration() {
            // Internal to this module: functions that it does not call are removed.
            function.set_linkage(Linkage::Internal);
        }
        if let Some(name) = c_name(&function.name())
            && let Some(fast) = module.function(&format!("{PREFIX}{name}"))
            && fast.has_type_of(function)
        {
            function.replace_uses_with(fast);
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
