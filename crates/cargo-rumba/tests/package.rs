//! What is published is complete: manifests state what a registry asks for, and archives have the files that their sources include.
//!
//! Nothing is compiled here: `cargo xtask package` builds the archives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The root of the sources.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate is two folders below the root")
}

/// The output of a program in the root of the sources.
#[track_caller]
fn output(program: &str, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(program);
    command.current_dir(workspace()).env("CARGO_NET_OFFLINE", "true");
    let output = command.args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// The packages of the workspace that are published, as `cargo metadata` describes them.
fn published() -> Vec<Value> {
    let metadata = output(&cargo(), &["metadata", "--no-deps", "--format-version", "1"]);
    let mut metadata: Value = serde_json::from_slice(&metadata).expect("cargo prints JSON");
    let Value::Array(mut packages) = metadata["packages"].take() else { panic!("a list of packages") };
    packages.retain(|package| package["publish"].is_null());
    packages
}

#[test]
fn manifests_state_what_a_registry_asks_for() {
    let packages = published();
    let versions: BTreeMap<&str, &str> = packages.iter().map(|own| (text(own, "name"), text(own, "version"))).collect();
    for package in &packages {
        let name = text(package, "name");
        for key in ["description", "license", "readme"] {
            assert!(!text(package, key).is_empty(), "{name} states no {key}");
        }
        for key in ["keywords", "categories"] {
            let count = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=5).contains(&count), "{name} states {count} {key}; crates.io takes 1 to 5");
        }
        let targets = &package["metadata"]["docs"]["rs"]["targets"];
        assert!(targets.is_array(), "{name} does not say for which targets docs.rs builds it");
        let dependencies = package["dependencies"].as_array().expect("a list of dependencies");
        for dependency in dependencies.iter().filter(|own| own["path"].is_string() && own["kind"] != "dev") {
            let on = text(dependency, "name");
            let version = versions.get(on).unwrap_or_else(|| panic!("{name} depends on {on}, which is not published"));
            assert_eq!(text(dependency, "req"), format!("={version}"), "{name} depends on {on}");
        }
    }
    // A package that should not be published states it; these are what users and other packages depend on.
    for name in ["cargo-rumba", "cuda_builder", "cuda_std", "rumba"] {
        assert!(versions.contains_key(name), "{name} is not published");
    }
    let folders =
        packages.iter().map(|package| folder(package).strip_prefix(workspace()).expect("a member").to_owned());
    for folder in folders {
        assert!(folder == Path::new("host") || folder.starts_with("crates"), "{} is published", folder.display());
    }
}

fn folder(package: &Value) -> &Path {
    Path::new(text(package, "manifest_path")).parent().expect("a manifest lies in a folder")
}

/// The list of an archive's files takes no network, as the archive does: without its patch, the workspace has other dependencies.
#[test]
fn archives_have_the_files_that_sources_include() {
    for package in &published() {
        let (name, folder) = (text(package, "name"), folder(package));
        let list = output(&cargo(), &["package", "--list", "--allow-dirty", "--quiet", "--package", name]);
        let list = String::from_utf8(list).expect("paths of text");
        let archive: BTreeSet<PathBuf> = list.lines().map(|file| folder.join(file)).collect();
        // Whole folders, since sources name some files by a macro.
        for file in ["src", "templates"].into_iter().flat_map(|part| files(&folder.join(part))) {
            assert!(archive.contains(&file), "{name}.crate lacks {}", file.display());
        }
        for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(archive.contains(&folder.join(file)), "{name}.crate lacks {file}");
        }
        for source in archive.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
            let text = fs::read_to_string(source).expect("a file of text");
            for included in included(&text) {
                let file = source.parent().expect("a file lies in a folder").join(included);
                let file = file.canonicalize().unwrap_or_default();
                assert!(archive.contains(&file), "{name}.crate lacks {included}, which {} includes", source.display());
            }
        }
    }
}

/// The files that a source includes by their path.
fn included(text: &str) -> impl Iterator<Item = &str> {
    let calls = ["include!(\"", "include_bytes!(\"", "include_str!(\""];
    calls.into_iter().flat_map(|call| text.split(call).skip(1)).filter_map(|rest| rest.split('"').next())
}

/// The files below a folder, if there is one.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("the folder can be read").path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files
}
