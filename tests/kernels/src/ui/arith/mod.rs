//! Arithmetic without a result.

use super::device;

pub mod instructions;
pub mod panics;
