//! Files of profiles and benchmarks.

use crate::base::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Writes a file into a folder, which is made if it does not exist, and returns the file's path.
pub(crate) fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let path = folder.join(name);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, bytes));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::Unwritable { path, source: source.into() }),
    }
}
