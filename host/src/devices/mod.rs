//! Devices: where everything on them starts, what several do together, and runs of a program under the checks.

pub mod check;
pub mod device;
pub mod explore;
pub mod nccl;
pub mod ranks;
pub(crate) mod split;
pub mod symmetric;
