//! Where the time goes: profiles, the limits of a device, occupancy, and whether a device pays.

pub(crate) mod bench;
pub mod capacity;
pub mod compare;
pub mod estimate;
mod files;
mod hints;
pub mod nvtx;
pub mod occupancy;
#[cfg(feature = "report")]
mod plot;
pub mod profile;
