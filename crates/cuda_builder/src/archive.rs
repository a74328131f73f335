//! Kernel crates that cargo unpacked from an archive: those of a registry and vendored crates.
//!
//! A build script builds such a crate from a copy in its own folder, with the dependency versions of the program's lock file: the lock
//! file in the archive may name versions that the program does not use. A registry's folders must not be changed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::builder::{workspace_root, write_if_changed};
use crate::error::BuildError;
use crate::one_file::{as_cargo_names_it, lock_as};

/// The file in which an archive keeps the manifest as its author wrote it.
const ORIGINAL: &str = "Cargo.toml.orig";

/// The folder that a crate is built in: of an unpacked archive a copy in the build script's folder, with the versions of the program's lock file.
///
/// # Errors
/// If a file cannot be read or written.
pub(crate) fn build_folder(crate_dir: PathBuf, out_dir: Option<&OsStr>) -> Result<PathBuf, BuildError> {
    let out_dir = out_dir.map(Path::new);
    let (Some(out_dir), Some(name), true) = (out_dir, crate_dir.file_name(), crate_dir.join(ORIGINAL).is_file()) else {
        return Ok(crate_dir);
    };
    let directory = as_cargo_names_it(out_dir).join(name);
    copy(&crate_dir, &directory)?;
    // Without a target folder in a workspace the versions are those of the archive.
    lock_as(&workspace_root(out_dir).join("Cargo.lock"), &directory)?;
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

#[cfg(test)]
mod tests {
    use super::{ORIGINAL, build_folder};
    use std::fs;

    #[test]
    fn an_archive_is_built_from_a_copy_with_the_versions_of_the_program() {
        let place = tempfile::tempdir().unwrap();
        let [archive, program] = ["kernels-0.1.0", "program"].map(|name| place.path().join(name));
        let out_dir = program.join("target/debug/build/program/out");
        for folder in [&archive.join("src"), &out_dir] {
            fs::create_dir_all(folder).unwrap();
        }
        let files = [("Cargo.toml", "[package]\n"), ("Cargo.lock", "old"), ("src/lib.rs", "// kernels\n")];
        for (file, text) in files {
            fs::write(archive.join(file), text).unwrap();
        }
        fs::write(program.join("Cargo.lock"), "new").unwrap();
        // As cargo gives it with `target-dir = "../program/target"`.
        let given = program.join("../program/target/debug/build/program/out");
        let folder = || build_folder(archive.clone(), Some(given.as_os_str())).unwrap();
        // A working copy is built where it is.
        assert_eq!(folder(), archive);
        fs::write(archive.join(ORIGINAL), "").unwrap();
        assert_eq!(build_folder(archive.clone(), None).unwrap(), archive);
        let copy = folder();
        assert_eq!(copy, out_dir.canonicalize().unwrap().join("kernels-0.1.0"));
        let read = |file: &str| fs::read_to_string(copy.join(file)).unwrap();
        assert_eq!(read("Cargo.toml"), "[package]\n\n[workspace]\n");
        assert_eq!(read("Cargo.lock"), "new");
        assert_eq!(read("src/lib.rs"), "// kernels\n");
        // What cargo made of the lock file stays, and sources are copied again.
        fs::write(copy.join("Cargo.lock"), "cargo's").unwrap();
        fs::write(archive.join("src/lib.rs"), "// other kernels\n").unwrap();
        folder();
        assert_eq!((read("Cargo.lock").as_str(), read("src/lib.rs").as_str()), ("cargo's", "// other kernels\n"));
        fs::write(program.join("Cargo.lock"), "newer").unwrap();
        folder();
        assert_eq!(read("Cargo.lock"), "newer");
    }
}
