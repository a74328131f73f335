//! How projects depend on Rumba: by a folder with its sources, by a git repository, or by a version in cargo's registry.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cuda_builder::toolchain::cargo_home;

use crate::place;

/// A library that projects depend on.
#[derive(Debug)]
pub struct Library {
    pub(crate) name: &'static str,
    /// The name of its package, where it is published.
    pub package: &'static str,
    /// Its folder in Rumba's sources.
    pub(crate) folder: &'static str,
}

/// Compiles kernels in build scripts.
pub const CUDA_BUILDER: Library =
    Library { name: "cuda_builder", package: "cuda_builder", folder: "crates/cuda_builder" };
/// The device library.
pub const CUDA_STD: Library = Library { name: "cuda_std", package: "cuda_std", folder: "crates/cuda_std" };
/// The runtime.
pub const RUMBA: Library = Library { name: "rumba", package: "rumba", folder: "host" };
/// All of them.
pub const LIBRARIES: [&Library; 3] = [&CUDA_BUILDER, &CUDA_STD, &RUMBA];

/// Where cargo finds Rumba.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The root of the sources.
    Folder(PathBuf),
    /// A git repository, and a commit of it unless the newest is taken.
    Repository {
        /// Its address.
        url: String,
        /// The commit.
        rev: Option<String>,
    },
    /// The version of this program in cargo's registry.
    Registry,
}

impl Source {
    /// The repository that the user names; otherwise the repository that `cargo install --git` installed this program from;
    /// otherwise the registry or the sources that this program was built from.
    ///
    /// # Errors
    /// If the program was installed from a repository that cargo's list of installed programs does not name.
    pub fn new(git: Option<String>) -> Result<Self> {
        if let Some(url) = git {
            return Ok(Self::Repository { url, rev: None });
        }
        match Self::checkouts() {
            None if place::is_from_registry() => Ok(Self::Registry),
            None => Ok(Self::Folder(place::sources().to_owned())),
            Some(home) => Self::installed(&home.join(".crates.toml")),
        }
    }

    /// Cargo's folder, if this program was built from one of the clones that cargo makes of repositories.
    pub fn checkouts() -> Option<PathBuf> {
        let home = cargo_home()?;
        place::compiled_sources().starts_with(home.join("git/checkouts")).then_some(home)
    }

    /// The repository of `cargo-rumba` in cargo's list of installed programs.
    fn installed(list: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(list).with_context(|| format!("could not read {}", list.display()))?;
        let source = || {
            let entry = text.lines().find_map(|line| line.trim_start().strip_prefix("\"cargo-rumba "))?;
            let source = entry.split_once("(git+")?.1.split_once(')')?.0;
            let (url, rev) = source.split_once('#')?;
            let url = url.split_once('?').map_or(url, |(url, _)| url);
            Some(Self::Repository { url: url.to_owned(), rev: Some(rev.to_owned()) })
        };
        source().with_context(|| {
            format!("{} does not name the repository of cargo-rumba; name it with `--git URL`", list.display())
        })
    }

    /// The entries of a dependency on a library.
    pub fn entries(&self, library: &Library) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let (first, second) = match self {
            Self::Folder(root) => (("path", root.join(library.folder).display().to_string()), None),
            Self::Repository { url, rev } => (("git", url.clone()), rev.clone().map(|rev| ("rev", rev))),
            Self::Registry => (("version", format!("={}", env!("CARGO_PKG_VERSION"))), None),
        };
        let renamed = (library.package != library.name).then(|| ("package", library.package.to_owned()));
        std::iter::once(first).chain(second).chain(renamed)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(root) => root.display().fmt(f),
            Self::Repository { url, .. } => f.write_str(url),
            Self::Registry => write!(f, "https://docs.rs/{}/{}", RUMBA.package, env!("CARGO_PKG_VERSION")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{RUMBA, Source};

    #[test]
    fn the_repository_of_an_installed_program_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join(".crates.toml");
        let installed = |text: &str| {
            std::fs::write(&list, text).unwrap();
            Source::installed(&list)
        };
        let found = installed(
            "[v1]\n\"cargo-rumba 0.1.0 (git+https://example.org/rumba.git?branch=main#0123abc)\" = [\"cargo-rumba\"]\n",
        );
        let entries = found.unwrap().entries(&RUMBA).collect::<Vec<_>>();
        assert_eq!(entries, [("git", "https://example.org/rumba.git".to_owned()), ("rev", "0123abc".to_owned())]);
        for other in ["[v1]\n", "[v1]\n\"cargo-rumba 0.1.0 (path+file:///rumba)\" = [\"cargo-rumba\"]\n"] {
            let error = installed(other).unwrap_err();
            assert!(error.to_string().contains("--git URL"), "{error}");
        }
    }
}
