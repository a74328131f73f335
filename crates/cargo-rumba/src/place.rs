//! Where things are: the sources of Rumba, the folders for files that commands make, and the kernels of the project at hand.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Result;

/// The folders of a program with these commands.
#[derive(Debug, Clone)]
pub struct Place {
    /// How users call the program: `cargo rumba` or `cargo xtask`.
    pub program: &'static str,
    /// The root of Rumba's sources.
    pub sources: PathBuf,
    /// The target folder for builds of Rumba's sources.
    pub build: PathBuf,
    /// Whether programs load the software device from the target folder, and not the installed one.
    pub loads_build: bool,
    /// Returns the folder for files that commands make for the user.
    pub output: fn() -> PathBuf,
    /// Returns the folders from which kernels name their source files.
    pub roots: fn() -> Vec<PathBuf>,
    /// Returns the kernel crate of commands that are not told one.
    pub kernels: fn() -> Result<PathBuf>,
}

static PLACE: OnceLock<Place> = OnceLock::new();

/// States the folders, once, at the start of the program.
pub fn set(place: Place) {
    // A second call would move folders under commands that have used them.
    assert!(PLACE.set(place).is_ok(), "the folders are stated once");
}

/// The folders. Tests of this crate use those of the clone that they are in.
fn place() -> &'static Place {
    PLACE.get_or_init(|| Place {
        program: "cargo rumba",
        sources: compiled_sources().to_owned(),
        build: compiled_sources().join("target"),
        loads_build: false,
        output: || compiled_sources().join("target"),
        roots: || vec![compiled_sources().to_owned()],
        kernels: || Ok(compiled_sources().join("kernels-gpu")),
    })
}

/// The root of the sources that this crate was compiled from; of a package from a registry the folder of the package.
pub fn compiled_sources() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    if is_from_registry() {
        return package;
    }
    package.ancestors().nth(2).expect("the crate is two folders below the root of the sources")
}

/// Whether this crate was compiled as a package of a registry, which names the folder of a package also by its version.
pub fn is_from_registry() -> bool {
    !Path::new(env!("CARGO_MANIFEST_DIR")).ends_with("crates/cargo-rumba")
}

/// How users call the program.
pub fn program() -> &'static str {
    place().program
}

/// The root of Rumba's sources.
pub fn sources() -> &'static Path {
    &place().sources
}

/// Whether cargo can build Rumba: from a registry, or from sources that are still where the program was built from.
pub fn has_sources() -> bool {
    is_from_registry() || sources().join("Cargo.toml").is_file()
}

/// The root of the sources, if this program was built from a clone that is still there.
pub fn clone_of_sources() -> Option<&'static Path> {
    (!is_from_registry() && has_sources()).then(sources)
}

/// Whether programs load the software device from the target folder, and not the installed one.
pub fn loads_build() -> bool {
    place().loads_build
}

/// The target folder for builds of Rumba's sources.
pub fn build() -> &'static Path {
    &place().build
}

/// The folder for files that commands make for the user.
pub fn output() -> PathBuf {
    (place().output)()
}

/// The folders from which kernels name their source files: the roots of their workspaces.
pub fn roots() -> Vec<PathBuf> {
    (place().roots)()
}

/// The kernel crate of a command: the folder that the user names, or the kernels of the project at hand.
pub fn kernels(named: Option<&Path>) -> Result<PathBuf> {
    named.map_or_else(place().kernels, |folder| Ok(folder.to_owned()))
}
