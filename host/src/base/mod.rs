//! The base of all modules: errors and warnings, types of elements, the interface to the driver, PTX as text, records of profiles.

pub(crate) mod activity;
pub(crate) mod append;
pub(crate) mod compiler_log;
pub(crate) mod driver;
pub(crate) mod dtype;
pub mod error;
pub(crate) mod host_fn;
pub(crate) mod ptx;
pub(crate) mod recording;
pub(crate) mod units;
pub mod warning;
