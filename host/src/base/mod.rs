//! What all else stands on: errors and warnings, the seam to the driver, PTX as text, and what a profile records.

pub(crate) mod activity;
pub(crate) mod compiler_log;
pub(crate) mod driver;
pub mod error;
pub(crate) mod host_fn;
pub(crate) mod ptx;
pub(crate) mod recording;
pub(crate) mod units;
pub mod warning;
