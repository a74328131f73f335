//! Accesses to memory that does not exist, belongs to others, or is not aligned.

pub mod copies;
pub mod global;
pub mod heap;
pub mod shared;
