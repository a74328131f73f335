//! Kernel crates that cargo unpacked from an archive: those of a registry and vendored crates.
//!
//! A build script builds such a crate from a copy in its own folder. The lock file in the archive names the versions of the day on which
//! the crate was published, which the program at hand may not use or have, and nobody may write into the folders of a registry.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::builder::{workspace_root, write_if_changed};
use crate::error::BuildError;
use crate::one_file::lock_as;

/// The file in which an archive keeps the manifest as its author wrote it.
const ORIGINAL: &str = "Cargo.toml.orig";

/// The folder that a crate is built in: of an unpacked archive a copy, with the versions of the program's lock file.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn build_folder(crate_dir: PathBuf) -> Result<PathBuf, BuildError> {
    let out_dir = env::var_os("OUT_DIR").map(PathBuf::from);
    let (Some(out_dir), Some(name), true) = (out_dir, crate_dir.file_name(), crate_dir.join(ORIGINAL).is_file()) else {
        return Ok(crate_dir);
    };
    let directory = out_dir.join(name);
    copy(&crate_dir, &directory)?;
    // Without a target folder in a workspace the versions are those of the archive.
    lock_as(&workspace_root(&out_dir).join("Cargo.lock"), &directory)?;
    Ok(directory)
}

/// Copies the files of a crate. The copy is a workspace of its own.
fn copy(from: &Path, to: &Path) -> Result<(), BuildError> {
    let failed = |source| BuildError::Io { path: from.to_owned(), source };
    fs::create_dir_all(to).map_err(failed)?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (name, path) = (entry.file_name(), entry.path());
        let target = to.join(&name);
        if path.is_dir() {
            copy(&path, &target)?;
        } else if name == "Cargo.toml" {
            let text = fs::read_to_string(&path).map_err(failed)?;
            write_if_changed(&target, &format!("{text}\n[workspace]\n"))?;
        } else if name != "Cargo.lock" || !target.exists() {
            let bytes = fs::read(&path).map_err(failed)?;
            if fs::read(&target).is_ok_and(|there| there == bytes) {
                continue;
            }
            // Not `fs::copy`: files of a registry may be read-only, and the copies are written again.
            fs::write(&target, bytes).map_err(failed)?;
        }
    }
    Ok(())
}
