//! Products of matrices. Each file has one way to compute them.

pub mod thread;
pub mod warp;
pub mod warp_group;
