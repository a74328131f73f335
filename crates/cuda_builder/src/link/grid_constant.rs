//! Parameters that are passed by value and stay where the launch put them: CUDA's `__grid_constant__`, which a tensor map has
//! to be (CUDA C++ Programming Guide, "Using TMA to transfer multi-dimensional arrays").
//!
//! rustc passes a structure to a kernel as an array in registers, of which an address would be one of local memory. So a
//! device library takes a pointer there, and says so in a static `__rumba_grid_constants_NAME` for the kernel `NAME`: 32-bit
//! words in little-endian order, three for each such parameter: its number among the PTX parameters, its size and its
//! alignment in bytes. The pointer becomes the structure, and the static goes.

use crate::llvm::Module;

/// A kernel's static is named by this and the kernel.
const PREFIX: &str = "__rumba_grid_constants_";

/// Changes the parameters that the statics name.
pub(super) fn apply(module: &Module<'_>) {
    for global in module.globals() {
        let symbol = global.name();
        let Some(name) = symbol.strip_prefix(PREFIX) else {
            continue;
        };
        if let (Some(kernel), Some(bytes)) = (module.function(name), global.constant_bytes()) {
            let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
            for &[parameter, bytes, align] in words.as_chunks::<3>().0 {
                kernel.pass_by_value(parameter, u64::from(bytes), u64::from(align));
            }
        }
        global.delete();
    }
}
