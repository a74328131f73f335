//! Reads of memory that was never written.

pub mod global;
pub mod local;
pub mod shared;
