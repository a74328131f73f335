//! The messages about frequent mistakes, and the table of them.

mod kernels;
mod list;
mod programs;
mod table;

use std::path::Path;

/// The folder of the mistakes.
fn mistakes() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/mistakes"))
}

/// The workspace.
fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
