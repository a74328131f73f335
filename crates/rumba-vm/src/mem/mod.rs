//! The memory of a device: the arena, the allocations in it, which of its bytes are unwritten, and atomic access to it.

pub(crate) mod allocations;
pub(crate) mod arena;
pub(crate) mod atomic;
pub(crate) mod copies;
pub(crate) mod heap;
pub(crate) mod mbarrier;
pub(crate) mod pages;
pub(crate) mod shadow;
pub(crate) mod snapshot;
pub(crate) mod stacks;
pub(crate) mod tensor;
pub mod tensor_map;
pub(crate) mod unwritten;
