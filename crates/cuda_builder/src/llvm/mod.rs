//! The parts of LLVM's API that the link stage uses beyond `rumba-llvm`: values, their changes, and the NVPTX target
//! machine.
//!
//! The library is the one that rustc itself uses, so its version always matches the bitcode. It
//! knows nothing of kernels; those rules are in [`crate::link`].

mod atomic;
mod module;
mod target;

pub(crate) use atomic::{AtomicRmw, Number, Ordering, Scope};
pub(crate) use module::{FastMath, Initialiser, Instruction, Linkage, Location, Module, Opcode, Value};
pub(crate) use rumba_llvm::{Context, Llvm, LlvmError, load};
pub(crate) use target::Machine;
pub use target::OptLevel;
