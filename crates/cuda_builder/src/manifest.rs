//! Settings of a kernel crate's build in its own `Cargo.toml`, so that all builds of the crate agree:
//!
//! ```toml
//! [package.metadata.cuda_builder]
//! arch = "sm_80"
//! ```

use std::path::Path;

use serde::Deserialize;

use crate::arch::NvvmArch;
use crate::error::BuildError;

#[derive(Default, Deserialize)]
struct Manifest {
    #[serde(default)]
    package: Package,
    #[serde(default)]
    lib: Lib,
}

#[derive(Default, Deserialize)]
struct Lib {
    name: Option<String>,
}

#[derive(Default, Deserialize)]
struct Package {
    #[serde(default)]
    name: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    cuda_builder: Settings,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    arch: Option<String>,
}

/// The architecture that the crate in a directory states.
pub(crate) fn arch(crate_dir: &Path) -> Result<Option<NvvmArch>, BuildError> {
    read(crate_dir, arch_of)
}

/// The name of the library of the crate in a directory.
pub(crate) fn library(crate_dir: &Path) -> Result<String, BuildError> {
    read(crate_dir, |text| Ok(library_of(&manifest(text)?)))
}

fn read<T>(crate_dir: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, BuildError> {
    let path = crate_dir.join("Cargo.toml");
    let text = std::fs::read_to_string(&path).map_err(|source| BuildError::Io { path: path.clone(), source })?;
    parse(&text).map_err(|reason| BuildError::Manifest { path, reason })
}

fn manifest(text: &str) -> Result<Manifest, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

fn library_of(manifest: &Manifest) -> String {
    manifest.lib.name.clone().unwrap_or_else(|| manifest.package.name.replace('-', "_"))
}

fn arch_of(text: &str) -> Result<Option<NvvmArch>, String> {
    let manifest = manifest(text)?;
    let arch = manifest.package.metadata.cuda_builder.arch;
    let arch = arch.map(|name| name.parse().map_err(|error| format!("arch: {error}")));
    arch.transpose()
}

#[cfg(test)]
mod tests {
    use super::{arch_of, library_of, manifest};
    use crate::arch::NvvmArch;

    #[test]
    fn the_architecture_is_stated_or_not() {
        let crate_ = "[package]\nname = \"k\"\n[dependencies]\n";
        assert_eq!(arch_of(crate_), Ok(None));
        let stated = |line: &str| arch_of(&format!("{crate_}[package.metadata.cuda_builder]\n{line}\n"));
        assert_eq!(stated("arch = \"sm_80\""), Ok(Some(NvvmArch::Compute80)));
        assert!(stated("arch = \"sm_81\"").unwrap_err().contains("sm_81"));
        assert!(stated("architecture = \"sm_80\"").unwrap_err().contains("architecture"));
    }

    #[test]
    fn a_library_has_the_name_of_its_package_unless_it_states_one() {
        let name = |text: &str| library_of(&manifest(text).unwrap());
        assert_eq!(name("[package]\nname = \"my-kernels\"\n"), "my_kernels");
        assert_eq!(name("[package]\nname = \"my-kernels\"\n[lib]\nname = \"own\"\n"), "own");
    }
}
