//! The device's own operations, one function each: where a thread is, barriers and fences, bits, accesses that caches
//! treat in another way; and for which devices code is compiled. `intrinsics` declares what LLVM and the builder provide, and no other file does for these.

pub mod arch;
pub mod bits;
pub(crate) mod intrinsics;
pub mod memory;
pub(crate) mod scope;
pub mod sync;
pub mod thread;
