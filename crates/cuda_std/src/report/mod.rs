//! Output of kernels besides their results: printed text, and panics.

pub mod io;
pub mod panic;
