//! Reads of memory that nobody has written.

pub mod global;
pub mod local;
pub mod shared;
