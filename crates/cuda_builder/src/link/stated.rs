//! The architectures that kernels state.
//!
//! A device library states them in a static `__rumba_arch_NAME` for the kernel `NAME`: names with spaces between. The static
//! goes, and the kernel is compiled once for each.

use std::collections::BTreeMap;

use crate::arch::NvvmArch;
use crate::error::BuildError;
use crate::llvm::Module;

/// A kernel's static is named by this and the kernel.
const PREFIX: &str = "__rumba_arch_";

/// Takes the statics out of the module: the architectures by their kernels.
pub(super) fn take(module: &Module<'_>) -> Result<BTreeMap<String, Vec<NvvmArch>>, BuildError> {
    let mut stated = BTreeMap::new();
    for global in module.globals() {
        let symbol = global.name();
        let Some(kernel) = symbol.strip_prefix(PREFIX) else {
            continue;
        };
        let names = global.constant_bytes().unwrap_or_default();
        let names = String::from_utf8_lossy(&names).into_owned();
        let architectures = names.split_whitespace().map(str::parse).collect::<Result<Vec<_>, _>>();
        let architectures = architectures.map_err(|source| BuildError::Arch { kernel: kernel.to_owned(), source })?;
        if !architectures.is_empty() && module.function(kernel).is_some() {
            stated.insert(kernel.to_owned(), architectures);
        }
        global.delete();
    }
    Ok(stated)
}
