//! What a kernel tells the host besides its results: printed text, and panics.

pub mod io;
pub mod panic;
