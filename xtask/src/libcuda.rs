//! Our `libcuda.so.1`, built and laid out as programs look for NVIDIA's: the software device as the driver of any program.

use crate::shell;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Builds the library. The result is a folder for `LD_LIBRARY_PATH` that has `libcuda.so` and `libcuda.so.1`.
pub(crate) fn folder() -> Result<PathBuf> {
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--release", "--package", "rumba-libcuda"]);
    shell::run(&mut build)?;
    let folder = shell::target().join("driver");
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    // A copy, under a new inode: a library that changes under a running program ends it.
    let library = folder.join("libcuda.so.1");
    if library.exists() {
        std::fs::remove_file(&library).with_context(|| format!("could not remove {}", library.display()))?;
    }
    let built = shell::target().join("release").join("libcuda.so");
    std::fs::copy(&built, &library).with_context(|| format!("could not copy {}", built.display()))?;
    link(Path::new("libcuda.so.1"), &folder.join("libcuda.so"))?;
    Ok(folder)
}

/// A symbolic link, made anew.
pub(crate) fn link(to: &Path, at: &Path) -> Result<()> {
    if at.symlink_metadata().is_ok() {
        std::fs::remove_file(at).with_context(|| format!("could not remove {}", at.display()))?;
    }
    std::os::unix::fs::symlink(to, at).with_context(|| format!("could not make {}", at.display()))
}
