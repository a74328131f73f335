//! Accesses to memory that is not there, not the kernel's, or not aligned.

pub mod copies;
pub mod global;
pub mod heap;
pub mod shared;
