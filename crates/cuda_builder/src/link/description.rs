//! Descriptions of kernels, which the host compares with their launchers.
//!
//! A device library states it in a static `__rumba_kernel_NAME` for the kernel `NAME`: text, of which this program
//! understands nothing. The static goes, and its text is written behind the PTX (`rumba_ptx::foot`).

use std::collections::BTreeMap;

use crate::llvm::Module;

/// A kernel's static is named by this and the kernel.
const PREFIX: &str = "__rumba_kernel_";

/// Takes the statics out of the module: the texts by their kernels.
pub(super) fn take(module: &Module<'_>) -> BTreeMap<String, String> {
    let mut descriptions = BTreeMap::new();
    for global in module.globals() {
        let symbol = global.name();
        let Some(kernel) = symbol.strip_prefix(PREFIX) else {
            continue;
        };
        let text = global.constant_bytes().and_then(|bytes| String::from_utf8(bytes).ok());
        if let (Some(text), true) = (text, module.function(kernel).is_some()) {
            descriptions.insert(kernel.to_owned(), text);
        }
        global.delete();
    }
    descriptions
}
