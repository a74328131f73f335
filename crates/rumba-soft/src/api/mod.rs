//! The driver calls that the software device serves: one function each, in the file of its prefix.
//!
//! A call checks in the order in which NVIDIA's driver does (initialised, context, then arguments), since
//! callers see only the first code. The list of names in `rumba_interface::calls` exports the calls.

pub(crate) mod array;
pub(crate) mod attributes;
pub(crate) mod capture;
pub(crate) mod ctx;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod func;
pub(crate) mod graph;
pub(crate) mod host;
pub(crate) mod init;
pub(crate) mod jit;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod mem;
pub(crate) mod memcpy;
pub(crate) mod memop;
pub(crate) mod memset;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod occupancy;
pub(crate) mod peer;
pub(crate) mod pointer;
pub(crate) mod pool;
pub(crate) mod primary;
pub(crate) mod profiler;
pub(crate) mod rectangle;
pub(crate) mod stream;
pub(crate) mod tensor;
pub(crate) mod vmm;
