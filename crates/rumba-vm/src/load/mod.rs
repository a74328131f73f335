//! Loading a module: verification, control flow, register slots, and operations that are put between for checks.

pub(crate) mod assemble;
pub(crate) mod cfg;
mod choices;
mod digest;
pub(crate) mod error;
pub(crate) mod function;
pub(crate) mod instrument;
pub(crate) mod liveness;
pub(crate) mod module;
pub(crate) mod passed;
pub(crate) mod resources;
pub(crate) mod survey;
mod unit;
pub(crate) mod verify;
