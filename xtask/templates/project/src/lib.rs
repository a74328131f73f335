//! What the program and its tests share.

/// The kernels as PTX, built by this package's build script.
pub const PTX: &str = include_str!(env!("KERNELS_PTX"));
