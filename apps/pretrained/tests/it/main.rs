//! Published networks against PyTorch's results (`tests/goldens/make.py`), where `cargo xtask setup --models` has fetched them; and files that
//! are no networks.

mod sentences;
mod upscaler;

use std::path::{Path, PathBuf};

/// The folder of a network, if it was fetched.
fn fetched(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/models").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("not tested: there is no {name}; `cargo xtask setup --models` fetches it");
    None
}

/// The folder of the goldens.
fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}
