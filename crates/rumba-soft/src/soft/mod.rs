//! The software device behind the driver API: contexts, handles, memory, modules.
//!
//! Only [`machine`] names the SIMT machine; only `crate::api` is `extern "C"`.

pub(crate) mod array;
pub(crate) mod capture;
mod checks;
pub(crate) mod comparison;
pub(crate) mod context;
pub(crate) mod driver;
mod engine;
pub(crate) mod graph;
pub(crate) mod handle;
pub(crate) mod image;
pub(crate) mod library;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod module;
pub(crate) mod order;
pub(crate) mod queue;
pub(crate) mod report;
mod verdict;
pub(crate) mod vmm;
pub(crate) mod work;
