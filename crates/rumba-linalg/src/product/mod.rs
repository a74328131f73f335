//! Products of matrices. Each file has one way to compute them.

mod epilogue;
pub mod pack;
pub mod parts;
pub mod thread;
pub mod warp;
pub mod warp_group;

pub use epilogue::{Activation, Epilogue, Factors, Output, Real};
