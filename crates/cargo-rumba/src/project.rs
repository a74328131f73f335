//! The project at hand, as cargo describes it: its target folder, its packages and its kernel crates.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rumba_interface::environment::cache_folder;
use serde::Deserialize;

use crate::source::{CUDA_STD, RUMBA, Source};
use crate::{place, shell};

/// The output of `cargo metadata --no-deps`.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// The packages of the workspace.
    pub packages: Vec<Package>,
    /// The root of the workspace.
    pub workspace_root: PathBuf,
    target_directory: PathBuf,
}

/// A package of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// The package's name.
    pub name: String,
    manifest_path: PathBuf,
    /// What cargo builds of it.
    pub targets: Vec<Target>,
    dependencies: Vec<Dependency>,
}

/// Something that cargo builds.
#[derive(Debug, Deserialize)]
pub struct Target {
    /// The target's name.
    pub name: String,
    kind: Vec<String>,
    /// The file at the root of its sources.
    pub src_path: PathBuf,
}

impl Target {
    /// Whether the target is of a kind, as cargo names kinds: `lib`, `bin`, `custom-build`.
    pub fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|own| own == kind)
    }
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    /// The name of the dependency in the package, where it has another one there.
    rename: Option<String>,
    /// The folder of a dependency by its path.
    path: Option<PathBuf>,
}

/// The workspace and the packages around a folder.
///
/// # Errors
/// With cargo's message, if there is no package or its manifest is wrong.
pub fn metadata(folder: &Path) -> Result<Metadata> {
    let mut cargo = shell::cargo();
    cargo.current_dir(folder).args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = cargo.output().with_context(|| format!("could not start {}", shell::describe(&cargo)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.trim_start_matches("error: ").trim_end());
    }
    serde_json::from_slice(&output.stdout).context("`cargo metadata` printed something else than its description says")
}

/// The target folder for builds of Rumba's own sources: that of the clone, or a folder of the user's if cargo made the clone or
/// took the sources from a registry.
pub fn build_of_sources() -> PathBuf {
    if !place::is_from_registry() && Source::checkouts().is_none() {
        return place::compiled_sources().join("target");
    }
    cache_folder().unwrap_or_else(|| std::env::temp_dir().join("rumba")).join("build")
}

/// The target folder of the project at hand; outside of projects a folder of Rumba's own.
pub fn output() -> PathBuf {
    match metadata(Path::new(".")) {
        Ok(metadata) => metadata.target_directory,
        Err(_) => build_of_sources(),
    }
}

/// Whether a package is a kernel crate: a library that depends on the device library, and not on the runtime.
pub fn is_kernel_crate(package: &Package) -> bool {
    let depends_on = |name| package.dependencies.iter().any(|dependency| dependency.name == name);
    package.targets.iter().any(|target| target.is("lib")) && depends_on(CUDA_STD.package) && !depends_on(RUMBA.package)
}

/// The folders from which kernels of the project name their source files: the roots of its workspace and of Rumba's, and the
/// current folder.
pub fn roots() -> Vec<PathBuf> {
    let workspace = metadata(Path::new(".")).map(|metadata| metadata.workspace_root);
    // The device library names its files by its own folder.
    let sources = place::sources();
    workspace.into_iter().chain([sources.to_owned(), sources.join("crates"), PathBuf::new()]).collect()
}

impl Package {
    /// The folder of the dependency with this name in the package; no folder for one that has no path.
    pub fn dependency(&self, name: &str) -> Option<Option<&Path>> {
        let named = |dependency: &&Dependency| dependency.rename.as_ref().unwrap_or(&dependency.name) == name;
        self.dependencies.iter().find(named).map(|dependency| dependency.path.as_deref())
    }

    /// Cargo's name of the feature `report` of the runtime, if the package depends on the runtime.
    pub fn report(&self) -> Option<String> {
        let runtime = self.dependencies.iter().find(|dependency| dependency.name == RUMBA.package)?;
        Some(format!("{}/report", runtime.rename.as_deref().unwrap_or(RUMBA.name)))
    }
}

impl Metadata {
    /// The package around the current folder; outside of packages none.
    pub fn current(&self) -> Result<Option<&Package>> {
        let current = std::env::current_dir()?;
        let around = self.packages.iter().filter(|package| current.starts_with(folder(package)));
        Ok(around.max_by_key(|package| folder(package).components().count()))
    }

    /// The feature `report` of the runtime, for the packages that cargo builds in the current folder.
    pub fn report(&self) -> Result<Option<String>> {
        Ok(match self.current()? {
            Some(package) => package.report(),
            None => self.packages.iter().find_map(Package::report),
        })
    }
}

/// The folder of a package.
pub fn folder(package: &Package) -> PathBuf {
    package.manifest_path.parent().map(Path::to_owned).unwrap_or_default()
}

/// The kernel crate of the project at hand: the package of the current folder, or the only kernel crate of its workspace.
pub fn kernels() -> Result<PathBuf> {
    let metadata = metadata(Path::new(".")).context("which kernels? Name the kernel crate with --crate")?;
    let current = std::env::current_dir()?;
    let mut crates: Vec<PathBuf> =
        metadata.packages.iter().filter(|package| is_kernel_crate(package)).map(folder).collect();
    if let Some(own) = crates.iter().find(|folder| current.starts_with(folder)) {
        return Ok(own.clone());
    }
    match crates.as_mut_slice() {
        [only] => Ok(std::mem::take(only)),
        [] => bail!(
            "{} has no kernel crate, a library that depends on cuda_std; `cargo rumba init` adds one",
            metadata.workspace_root.display()
        ),
        several => {
            let names: Vec<String> = several.iter().map(|folder| folder.display().to_string()).collect();
            bail!("which kernels? Name one of these with --crate:\n  {}", names.join("\n  "))
        }
    }
}
