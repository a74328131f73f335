//! The messages about frequent mistakes, and the table of them.

mod kernels;
mod programs;
mod table;

use std::path::Path;

/// The folder of this package.
fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
