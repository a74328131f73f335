//! Products of matrices. Each file has one way to compute them.

mod epilogue;
pub mod fused;
pub mod pack;
pub mod parts;
pub mod stored;
pub mod thread;
pub mod warp;
pub mod warp_group;

pub(crate) use epilogue::Curve;
pub use epilogue::{Activation, Epilogue, Output, Real};
