//! The device's own operations, one function each: where a thread is, barriers and fences, bits, accesses that caches
//! treat in another way; and for which devices code is compiled. `intrinsics` declares what LLVM and the builder provide, and no
//! other file does for these; `wgmma` and its neighbours have the instructions for tensors of one generation, for which LLVM has no names or other ones
//! in each version.

pub mod arch;
pub mod bits;
pub(crate) mod cluster;
pub(crate) mod intrinsics;
pub mod memory;
pub(crate) mod scope;
pub mod sync;
pub mod thread;
pub(crate) mod waiting;
pub(crate) mod warp_group;
pub(crate) mod wgmma;
