//! The invariants of ARCHITECTURE.md, as far as reading the sources can check them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::{root, rust_files_below};

/// The Rust files below a folder, with their lines that are code: comments are free to name anything.
fn code(folder: &str) -> Vec<(PathBuf, Vec<String>)> {
    let mut found = Vec::new();
    for path in rust_files_below(folder) {
        let text = std::fs::read_to_string(root().join(&path)).expect("sources are UTF-8");
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned()).collect();
        found.push((path, lines));
    }
    assert!(!found.is_empty(), "{folder} has no Rust files");
    found
}

/// Fails if a line of code below `folder` is `forbidden`, naming all such lines.
fn forbid(folder: &str, why: &str, forbidden: impl Fn(&str) -> bool) {
    let mut found = String::new();
    for (path, lines) in code(folder) {
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| forbidden(line)) {
            found += &format!("\n{}:{}: {}", path.display(), index + 1, line.trim());
        }
    }
    assert!(found.is_empty(), "{why}:{found}");
}

/// Whether `line` contains the name of a driver call, such as `cuMemAlloc`.
fn names_a_driver_call(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase())))
}

#[test]
fn the_gallery_is_safe() {
    forbid("kernels-gpu/src", "a kernel of the gallery is not safe", |line| line.contains("unsafe"));
}

#[test]
fn the_readme_shows_the_program_that_cargo_rumba_new_writes() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).expect("the file is part of the workspace");
    let readme = read("README.md");
    for file in ["src/main.rs", "build.rs"] {
        let text = read(&format!("crates/cargo-rumba/templates/one-file/{file}"));
        assert!(
            readme.contains(text.trim_end()),
            "README.md shows another {file} than the template of a program in one file"
        );
    }
}

#[test]
fn unsafe_openings_of_the_device_library_are_listed() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the map is part of the workspace");
    let (_, section) = map.split_once("## Where `unsafe` is left").expect("there is such a section");
    let (section, _) = section.split_once("\n## ").expect("there is a section behind it");
    let mut openings = 0;
    for (path, lines) in code("crates/cuda_std/src") {
        for line in lines {
            let declared = ["pub unsafe fn ", "pub const unsafe fn ", "pub unsafe trait "]
                .iter()
                .find_map(|start| line.trim_start().strip_prefix(start));
            let Some(declared) = declared else { continue };
            let name = declared.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            let named = section.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
            assert!(named, "{}: `{name}` is unsafe and not in ARCHITECTURE.md", path.display());
            openings += 1;
        }
    }
    assert!(openings > 0, "nothing was found to look for");
}

/// Public traits of the device library that anyone may implement without `unsafe`, so that no argument for the safety of
/// anything may rest on an implementation. All others are unsafe or sealed.
const OPEN_TRAITS: [&str; 29] = [
    // Their values are only computed with.
    "Bits",
    "Extreme",
    "Generator",
    "GpuComplex",
    "GpuFloat",
    "Half",
    "Identity",
    "Operator",
    "Sum",
    "Term",
    // The results of these functions are sound by their own types: a call, a shape.
    "Broadcast",
    "Compiled",
    "Each",
    "Join",
    "Split",
    // Implemented for all types with the unsafe traits before them, so for no others.
    "ByValue",
    "Shuffle",
    "Value",
    // Their methods are unsafe, and called with what they are implemented for.
    "FlatOperands",
    "LoopedOperands",
    "StridedOperands",
    // Sealed by the traits that they ask for, or named by sealed traits alone.
    "Element",
    "Form",
    "Load",
    "Results",
    // Implemented for no type: they word a message.
    "AfterSync",
    "Arithmetic",
    "ByIndex",
    "ByOperator",
];

#[test]
fn public_traits_of_the_device_library_are_sealed_or_unsafe_or_known() {
    let mut known = 0;
    for (path, lines) in code("crates/cuda_std/src") {
        for line in &lines {
            // Traits of modules within a file are private: they seal other traits.
            let Some(declared) = line.strip_prefix("pub trait ") else {
                continue;
            };
            let name = declared.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            if declared.contains("sealed::") {
                continue;
            }
            assert!(
                OPEN_TRAITS.contains(&name),
                "{}: anyone can implement `{name}`; seal it, make it unsafe, or say why nothing rests on it",
                path.display()
            );
            known += 1;
        }
    }
    assert_eq!(known, OPEN_TRAITS.len(), "a trait of the list is gone");
}

#[test]
fn the_machine_does_not_know_the_driver_api() {
    forbid("crates/rumba-vm/src", "rumba-vm names a driver call", names_a_driver_call);
    forbid("crates/rumba-ptx/src", "rumba-ptx names a driver call", names_a_driver_call);
}

#[test]
fn only_the_driver_defines_the_abi() {
    for folder in [
        "host/src",
        "kernels-gpu/src",
        "crates/cuda_builder/src",
        "crates/rumba-interface/src",
        "crates/rumba-ptx/src",
        "crates/rumba-soft/src",
        "crates/rumba-vm/src",
    ] {
        forbid(folder, "a symbol is exported outside of rumba-driver", |line| line.contains("no_mangle"));
    }
}

/// A default feature of one member would put the software device into the programs of all.
#[test]
fn no_program_of_the_workspace_compiles_the_software_device() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .current_dir(root())
        .args(["tree", "--workspace", "--offline", "--invert", "rumba-soft", "--edges", "all", "--prefix", "none"])
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8_lossy(&output.stdout);
    let packages: std::collections::BTreeSet<&str> =
        tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let expected = ["rumba-libcuda", "rumba-soft", "rumba-soft-library"];
    assert!(packages.iter().eq(&expected), "{tree}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_runtime_does_not_know_the_software_device() {
    forbid("host/src", "host names the software device", |line| line.contains("rumba_vm"));
}

#[test]
fn the_parser_knows_no_instruction() {
    let mnemonics = ["\"add\"", "\"fma\"", "\"ld\"", "\"st\"", "\"bra\"", "\"cvt\"", "\"setp\"", "\"atom\"", "\"mov\""];
    let sources = code("crates/rumba-ptx/src");
    for (path, lines) in &sources {
        let code = lines.split(|line| line.contains("#[cfg(test)]")).next().unwrap_or_default();
        for line in code {
            assert!(!mnemonics.iter().any(|name| line.contains(name)), "{}: {line}", path.display());
        }
    }
}

/// The variables of the environment that sources read are those of the one list, which the book and the documentation of
/// `rumba-driver` show.
#[test]
fn the_list_of_variables_is_whole() {
    /// No variable of programs: a build script sets it for the compiler.
    const BUILDING: &str = "RUMBA_SOFT_SOURCES";
    let is_name = |literal: &&str| {
        let rest = literal.strip_prefix("RUMBA_").unwrap_or_default();
        !rest.is_empty()
            && rest.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
            && *literal != BUILDING
    };
    let packages = std::fs::read_dir(root().join("crates")).expect("a folder");
    let mut folders = vec!["host/src".to_owned()];
    folders.extend(packages.map(|package| {
        let name = package.expect("the folder can be read").file_name();
        format!("crates/{}/src", name.to_string_lossy())
    }));
    let mut read = BTreeSet::new();
    for (_, lines) in folders.iter().filter(|folder| root().join(folder).is_dir()).flat_map(|folder| code(folder)) {
        for line in lines.iter().take_while(|line| !line.contains("#[cfg(test)]")) {
            read.extend(line.split('"').filter(is_name).map(str::to_owned));
        }
    }
    let list = std::fs::read_to_string(root().join("crates/rumba-driver/variables.md")).expect("a file");
    let rows = list.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: Vec<String> = rows.map(|(name, _)| name.to_owned()).collect();
    assert_eq!(read, listed.iter().cloned().collect());
    assert_eq!(read.len(), listed.len(), "a variable has two rows");
}
