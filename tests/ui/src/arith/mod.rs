//! Arithmetic without a result.

pub mod instructions;
pub mod panics;
