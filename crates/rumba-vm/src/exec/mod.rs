//! The execution of a warp: memory accesses, branches, barriers, reconvergence, and its reports to the checks.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod choice;
pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod group_sync;
pub(crate) mod lane;
pub(crate) mod memory;
pub(crate) mod native;
pub(crate) mod observe;
pub(crate) mod processor;
pub(crate) mod range;
pub(crate) mod rendezvous;
pub(crate) mod schedule;
pub(crate) mod shape;
pub(crate) mod sync;
pub(crate) mod values;
