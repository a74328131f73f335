//! What a warp does: accesses of memory, branches, barriers, reconvergence, and what it tells the checks of that.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod choice;
pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod group_sync;
pub(crate) mod lane;
pub(crate) mod lockstep;
pub(crate) mod memory;
pub(crate) mod native;
pub(crate) mod observe;
pub(crate) mod part;
pub(crate) mod processor;
pub(crate) mod range;
pub(crate) mod rendezvous;
pub(crate) mod schedule;
pub(crate) mod shape;
pub(crate) mod sync;
pub(crate) mod values;
