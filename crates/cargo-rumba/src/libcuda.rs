//! Our `libcuda.so.1`, built or of an archive, and laid out as programs look for NVIDIA's: the software device as the driver of any program.

use crate::{archive, place, shell};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The name under which programs load the driver.
pub const FILE: &str = "libcuda.so.1";

/// Builds the library. The result is a folder for `LD_LIBRARY_PATH` that has `libcuda.so` and `libcuda.so.1`.
///
/// # Errors
/// If the library cannot be built or copied.
pub fn folder() -> Result<PathBuf> {
    if !place::loads_build()
        && let Some(folder) = archive::driver()
    {
        return Ok(folder);
    }
    let folder = place::build().join("driver");
    if !place::has_sources() && folder.join(FILE).is_file() {
        return Ok(folder);
    }
    let mut build = shell::cargo_of_sources()?;
    build.args(["build", "--quiet", "--release", "--package", "rumba-libcuda"]);
    shell::run(&mut build)?;
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let built = place::build().join("release").join("libcuda.so");
    archive::put(&built, &folder.join(FILE)).with_context(|| format!("could not copy {}", built.display()))?;
    link(Path::new(FILE), &folder.join("libcuda.so"))?;
    Ok(folder)
}

/// Makes a symbolic link, in place of any that is there.
///
/// # Errors
/// If the system refuses it.
pub fn link(to: &Path, at: &Path) -> Result<()> {
    if at.symlink_metadata().is_ok() {
        std::fs::remove_file(at).with_context(|| format!("could not remove {}", at.display()))?;
    }
    std::os::unix::fs::symlink(to, at).with_context(|| format!("could not make {}", at.display()))
}
