//! The project at hand, as cargo describes it: its target folder, its packages and its kernel crates.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, Package};
use cargo_rumba::place;
use cargo_rumba::source::Source;
use rumba_interface::environment::cache_folder;

/// The workspace and the packages around a folder.
///
/// # Errors
/// With cargo's message, if there is no package or its manifest is wrong.
pub(crate) fn metadata(folder: &Path) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.current_dir(folder).no_deps();
    command.exec().map_err(|error| match error {
        cargo_metadata::Error::CargoMetadata { stderr } => {
            anyhow::anyhow!(stderr.trim_start_matches("error: ").trim_end().to_owned())
        }
        error => error.into(),
    })
}

/// The target folder for builds of Rumba's own sources: that of the clone, or a folder of the user's if cargo made the clone.
pub(crate) fn build_of_sources() -> PathBuf {
    if Source::checkouts().is_none() {
        return place::compiled_sources().join("target");
    }
    cache_folder().unwrap_or_else(|| std::env::temp_dir().join("rumba")).join("build")
}

/// The target folder of the project at hand; outside of projects a folder of Rumba's own.
pub(crate) fn output() -> PathBuf {
    match metadata(Path::new(".")) {
        Ok(metadata) => metadata.target_directory.into_std_path_buf(),
        Err(_) => build_of_sources(),
    }
}

/// Whether a package is a kernel crate: a library that depends on the device library.
pub(crate) fn is_kernel_crate(package: &Package) -> bool {
    let is_library = package.targets.iter().any(cargo_metadata::Target::is_lib);
    is_library
        && package.dependencies.iter().any(|dependency| dependency.name == "cuda_std")
        && package.dependencies.iter().all(|dependency| dependency.name != "rumba")
}

/// The folder of a package.
pub(crate) fn folder(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().map(Path::to_owned).unwrap_or_default()
}

/// The kernel crate of the project at hand: the package of the current folder, or the only kernel crate of its workspace.
pub(crate) fn kernels() -> Result<PathBuf> {
    let metadata = metadata(Path::new(".")).context("which kernels? Name the kernel crate with --crate")?;
    let current = std::env::current_dir()?;
    let packages = metadata.workspace_packages();
    let mut crates: Vec<PathBuf> =
        packages.into_iter().filter(|package| is_kernel_crate(package)).map(folder).collect();
    if let Some(own) = crates.iter().find(|folder| current.starts_with(folder)) {
        return Ok(own.clone());
    }
    match crates.as_mut_slice() {
        [only] => Ok(std::mem::take(only)),
        [] => bail!(
            "{} has no kernel crate, a library that depends on cuda_std; `cargo rumba init` adds one",
            metadata.workspace_root
        ),
        several => {
            let names: Vec<String> = several.iter().map(|folder| folder.display().to_string()).collect();
            bail!("which kernels? Name one of these with --crate:\n  {}", names.join("\n  "))
        }
    }
}
