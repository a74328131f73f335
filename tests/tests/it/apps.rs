//! The folder `apps` is a workspace of its own, on which no other package depends.
//!
//! Both workspaces share a target folder, so their settings and the versions of their dependencies have to agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::common::{paths_below, root};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The manifests of the repository outside of `apps`, from the repository's root.
fn manifests() -> Vec<PathBuf> {
    let all = paths_below("").into_iter();
    all.filter(|path| path.ends_with("Cargo.toml") && !path.starts_with("apps")).collect()
}

/// The strings that a line of a manifest has for `path`: `path = "../host"` and `rumba.path = "../host"`.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let values = line.split("path = \"").skip(1);
    values.filter_map(|value| value.split('"').next())
}

/// A path without `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                resolved.pop();
            }
            component => resolved.push(component),
        }
    }
    resolved
}

#[test]
fn no_package_outside_of_apps_depends_on_apps() {
    let (manifests, mut seen) = (manifests(), 0);
    for manifest in &manifests {
        let folder = manifest.parent().expect("a manifest lies in a folder");
        for path in read(&manifest.to_string_lossy()).lines().flat_map(paths) {
            let path = resolved(&folder.join(path));
            assert!(!path.starts_with("apps"), "{} depends on {}", manifest.display(), path.display());
            seen += 1;
        }
    }
    assert!(manifests.len() > 20 && seen > 20, "{} manifests with {seen} paths were found", manifests.len());
}

/// The lines of a table of a manifest, without comments.
fn table<'a>(manifest: &'a str, header: &str) -> BTreeSet<&'a str> {
    let header = format!("[{header}]");
    let lines = manifest.lines().skip_while(|line| *line != header).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

#[test]
fn apps_have_the_settings_of_the_workspace() {
    let (workspace, apps) = (read("Cargo.toml"), read("apps/Cargo.toml"));
    // The workspace has more for the packages that are published; no package of apps is.
    let (of_apps, of_workspace) = (table(&apps, "workspace.package"), table(&workspace, "workspace.package"));
    assert!(of_apps.len() >= 4 && of_apps.is_subset(&of_workspace), "{of_apps:?} and {of_workspace:?}");
    for header in ["workspace.lints.rust", "workspace.lints.clippy", "profile.dev", "profile.release"] {
        let expected = table(&workspace, header);
        assert!(!expected.is_empty(), "the workspace has no [{header}]");
        assert_eq!(table(&apps, header), expected, "[{header}]");
    }
    // Without Rumba's own packages: they are members there, and dependencies here.
    let dependencies = |manifest| {
        let lines = table(manifest, "workspace.dependencies").into_iter().filter(|line| !line.contains("path = "));
        lines.filter_map(|line| line.split_once(" = ")).collect::<BTreeMap<_, _>>()
    };
    let expected = dependencies(&workspace);
    for (name, requirement) in dependencies(&apps) {
        assert_eq!(expected.get(name), Some(&requirement), "{name}");
    }
    let optimised = |manifest| -> BTreeMap<&str, &str> {
        let lines = table(manifest, "profile.dev.package").into_iter().filter_map(|line| line.split_once(" = {"));
        let settings = lines.map(|(name, settings)| (name, settings.split("opt-level = ").nth(1)));
        settings.filter_map(|(name, level)| Some((name, level?))).collect()
    };
    let expected = optimised(&workspace);
    for (name, level) in optimised(&apps) {
        let is_of_apps = root().join("apps").join(name).is_dir();
        assert!(is_of_apps || expected.get(name) == Some(&level), "{name} is compiled otherwise: {level}");
    }
}

/// The packages of a lock file and their versions. Versions that are not compatible are different packages: `rand 0.9`, `rand 0.10`.
fn locked(file: &str) -> BTreeMap<String, String> {
    let text = read(file);
    let mut found = BTreeMap::new();
    for package in text.split("[[package]]").skip(1) {
        let value =
            |key| package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'));
        let (name, version) = (value("name").expect("a name"), value("version").expect("a version"));
        let numbers: Vec<&str> = version.split('.').collect();
        let significant = 1 + numbers.iter().take_while(|number| **number == "0").count();
        let compatible = numbers[..significant.min(numbers.len())].join(".");
        found.insert(format!("{name} {compatible}"), version.to_owned());
    }
    found
}

#[test]
fn apps_have_the_versions_of_the_workspace() {
    let (workspace, apps) = (locked("Cargo.lock"), locked("apps/Cargo.lock"));
    let mut seen = 0;
    for (package, version) in &apps {
        if let Some(expected) = workspace.get(package) {
            assert_eq!(version, expected, "{package} in apps/Cargo.lock and in Cargo.lock");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} packages are in both lock files");
}

/// `cargo xtask test -p NAME` tells from the folder which workspace has a package.
#[test]
fn packages_of_apps_have_the_names_of_their_folders() {
    let manifest = read("apps/Cargo.toml");
    let members = manifest.lines().filter_map(|line| line.strip_prefix("    \"")?.strip_suffix("\","));
    let mut seen = 0;
    for member in members {
        let package = read(&format!("apps/{member}/Cargo.toml"));
        assert!(table(&package, "package").contains(&*format!("name = \"{member}\"")), "the package of apps/{member}");
        seen += 1;
    }
    assert!(seen > 3, "{seen} packages were found");
}
