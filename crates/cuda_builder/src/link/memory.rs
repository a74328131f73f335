//! Shared and constant memory.
//!
//! rustc knows one address space. A static asks for another by its section, and is re-created there;
//! the optimiser then makes `ld.shared` out of a load through it.
//!
//! | section | becomes |
//! |---|---|
//! | `.shared` | `.shared`, not initialised |
//! | `.shared.dynamic` | `.extern .shared`, as large as the launch says |
//! | `.constant` | `.const` with its initialiser |

use crate::llvm::{Initialiser, Module, Value};

/// PTX ISA, "State Spaces", as LLVM's NVPTX target numbers them.
const SHARED: u32 = 3;
const CONSTANT: u32 = 4;

/// Moves the statics that name one of our sections.
pub(super) fn place(module: &Module<'_>) {
    for global in module.globals() {
        let (space, initialiser) = match global.section().as_str() {
            ".shared" => (SHARED, Initialiser::Undefined),
            ".shared.dynamic" => (SHARED, Initialiser::Declaration),
            ".constant" => (CONSTANT, Initialiser::Same),
            _ => continue,
        };
        module.move_to_address_space(global, space, initialiser);
    }
}

/// Whether a variable is in shared memory: each block has its own.
pub(super) fn is_shared(global: Value<'_>) -> bool {
    global.address_space() == SHARED
}
