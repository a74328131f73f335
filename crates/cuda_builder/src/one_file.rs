//! Kernels in the source file of a program: modules with the attribute `#[rumba::kernels]`.
//!
//! The kernels become a crate of their own in the folder of the build script. Its only source file is a copy of the program's file,
//! in which everything outside of these modules is blank, so lines and columns of the compiler's messages are those of the program's file.
//! The crate depends on those dependencies of the program that the modules name.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use toml::{Table, Value};

use crate::builder::{workspace_root, write_if_changed};
use crate::error::BuildError;

/// The name of the attribute.
const ATTRIBUTE: &str = "kernels";

/// The reason of a build outside of build scripts.
const SCRIPT: &str = "a build script of cargo builds them";

/// A crate that was made of a program's file.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) directory: PathBuf,
    /// The files of the program that the crate is made of.
    pub(crate) inputs: Vec<PathBuf>,
}

/// The file for PTX of a program that is no Rust.
pub(crate) fn output() -> Result<PathBuf, BuildError> {
    let folder = env::var_os("OUT_DIR").map(PathBuf::from);
    let folder = folder.ok_or_else(|| BuildError::OneFile { file: PathBuf::new(), reason: SCRIPT.to_owned() })?;
    Ok(folder.join("kernels.ptx"))
}

/// Makes the crate. Without a crate the file is no Rust, which the compiler of the program reports.
///
/// # Errors
/// If a file cannot be read or written, or the file has no such module.
pub(crate) fn generate(file: &Path) -> Result<Option<Generated>, BuildError> {
    let variable = |name| env::var_os(name).map(PathBuf::from);
    let (Some(package), Some(out_dir)) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR")) else {
        return Err(BuildError::OneFile { file: file.to_owned(), reason: SCRIPT.to_owned() });
    };
    let source = package.join(file);
    // Also of a file without kernels, which an edit may give some.
    println!("cargo::rerun-if-changed={}", source.display());
    let text = read(&source)?;
    let Some(modules) = modules(&text) else { return Ok(None) };
    if modules.ranges.is_empty() {
        let reason = "there is no module `#[rumba::kernels] mod NAME { .. }` at its top level".to_owned();
        return Err(BuildError::OneFile { file: source, reason });
    }
    let directory = as_cargo_names_it(&out_dir).join(ATTRIBUTE);
    let manifest_file = package.join("Cargo.toml");
    let manifest = parse(&manifest_file)?;
    let root = workspace_root(&package);
    let crate_manifest = crate_manifest(&manifest, &package, root, file, &modules.names)?;
    write_if_changed(&directory.join("Cargo.toml"), &crate_manifest)?;
    write_if_changed(&directory.join(file), &blanked(&text, &modules.ranges))?;
    let lock = root.join("Cargo.lock");
    lock_as(&lock, &directory)?;
    Ok(Some(Generated { directory, inputs: vec![source, manifest_file, root.join("Cargo.toml"), lock] }))
}

/// The folder without links and `..`, as cargo names the crates in the folder. Cargo gives OUT_DIR as `build.target-dir` was written.
pub(crate) fn as_cargo_names_it(out_dir: &Path) -> PathBuf {
    out_dir.canonicalize().unwrap_or_else(|_| out_dir.to_owned())
}

/// Gives a generated crate the versions of the program's lock file. Cargo adds and removes packages of its own copy.
///
/// # Errors
/// If the copy cannot be written.
pub(crate) fn lock_as(lock: &Path, directory: &Path) -> Result<(), BuildError> {
    if let Ok(text) = fs::read_to_string(lock) {
        let (own, seen) = (directory.join("Cargo.lock"), directory.join("program.lock"));
        let is_current = own.exists() && fs::read_to_string(&seen).is_ok_and(|seen| seen == text);
        if !is_current {
            write_if_changed(&own, &text)?;
            write_if_changed(&seen, &text)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, BuildError> {
    fs::read_to_string(path).map_err(|source| BuildError::Io { path: path.to_owned(), source })
}

fn parse(path: &Path) -> Result<Table, BuildError> {
    let wrong = |error: toml::de::Error| BuildError::Manifest { path: path.to_owned(), reason: error.to_string() };
    read(path)?.parse().map_err(wrong)
}

/// The modules of kernels in a file.
#[derive(Debug, Default)]
struct Modules {
    /// Where they are, in bytes, without their attribute.
    ranges: Vec<Range<usize>>,
    /// All identifiers in them.
    names: BTreeSet<String>,
}

/// The modules of kernels at the top level of a file, unless the file is no sequence of Rust's tokens.
fn modules(text: &str) -> Option<Modules> {
    let tokens: Vec<TokenTree> = TokenStream::from_str(text).ok()?.into_iter().collect();
    let mut modules = Modules::default();
    let mut index = 0;
    while index < tokens.len() {
        let attributed = is_attribute(&tokens[index..]);
        index += 1;
        if !attributed {
            continue;
        }
        // Other attributes, the visibility, `mod NAME` and the body.
        let start = index + 1;
        let Some(body) = tokens[start..].iter().position(|token| delimiter(token) == Some(Delimiter::Brace)) else {
            break;
        };
        let body = start + body;
        let is_module =
            tokens[start..body].iter().any(|token| matches!(token, TokenTree::Ident(name) if name == "mod"));
        if is_module && let TokenTree::Group(group) = &tokens[body] {
            let begin = tokens[start].span().byte_range().start;
            modules.ranges.push(begin..group.span().byte_range().end);
            identifiers(group.stream(), &mut modules.names);
        }
        index = body + 1;
    }
    Some(modules)
}

fn delimiter(token: &TokenTree) -> Option<Delimiter> {
    match token {
        TokenTree::Group(group) => Some(group.delimiter()),
        _ => None,
    }
}

/// Whether tokens begin with `#[kernels]`, `#[rumba::kernels]` or another path to this name.
fn is_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(group), ..] = tokens else { return false };
    let last = group.stream().into_iter().last();
    hash.as_char() == '#'
        && group.delimiter() == Delimiter::Bracket
        && matches!(last, Some(TokenTree::Ident(name)) if name == ATTRIBUTE)
}

fn identifiers(tokens: TokenStream, names: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                names.insert(name.to_string());
            }
            TokenTree::Group(group) => identifiers(group.stream(), names),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The text with a space for each character outside of the ranges.
fn blanked(text: &str, ranges: &[Range<usize>]) -> String {
    let is_kept = |at: usize| ranges.iter().any(|range| range.contains(&at));
    let characters = text.char_indices();
    characters.map(|(at, character)| if is_kept(at) || character == '\n' { character } else { ' ' }).collect()
}

/// The manifest of the crate: the program's name, version and edition, and the dependencies that its kernels name.
fn crate_manifest(
    manifest: &Table,
    package_dir: &Path,
    root: &Path,
    file: &Path,
    names: &BTreeSet<String>,
) -> Result<String, BuildError> {
    let wrong = |reason: &str| BuildError::OneFile { file: file.to_owned(), reason: reason.to_owned() };
    let workspace_manifest = if root == package_dir { manifest.clone() } else { parse(&root.join("Cargo.toml"))? };
    let workspace = workspace_manifest.get("workspace").and_then(Value::as_table);
    let package =
        manifest.get("package").and_then(Value::as_table).ok_or_else(|| wrong("its manifest has no [package]"))?;
    // A value, or that of the workspace.
    let inherited = |key: &str| match package.get(key) {
        Some(Value::Table(_)) => workspace?.get("package")?.get(key).cloned(),
        value => value.cloned(),
    };
    let mut own = Table::new();
    for key in ["name", "version", "edition"] {
        own.extend(inherited(key).map(|value| (key.to_owned(), value)));
    }
    let mut dependencies = Table::new();
    for (name, dependency) in manifest.get("dependencies").and_then(Value::as_table).into_iter().flatten() {
        let is_named = name == "cuda_std" || names.contains(&name.replace('-', "_"));
        if !is_named || name == "rumba" {
            continue;
        }
        let mut table = as_table(dependency);
        let mut folder = package_dir;
        if table.remove("workspace").is_some() {
            let shared = workspace.and_then(|workspace| workspace.get("dependencies")?.get(name));
            let shared = shared.ok_or_else(|| wrong(&format!("the workspace has no dependency `{name}`")))?;
            let mut merged = as_table(shared);
            if let (Some(Value::Array(features)), Some(Value::Array(more))) =
                (merged.get_mut("features"), table.get("features"))
            {
                features.extend(more.iter().cloned());
                table.remove("features");
            }
            merged.extend(table);
            (table, folder) = (merged, root);
        }
        table.remove("optional");
        if let Some(Value::String(path)) = table.get_mut("path") {
            *path = folder.join(&*path).display().to_string();
        }
        dependencies.insert(name.clone(), Value::Table(table));
    }
    if !dependencies.contains_key("cuda_std") {
        return Err(wrong("its package has no dependency `cuda_std`, which kernels are written with"));
    }
    let library = Table::from_iter([
        ("path".to_owned(), Value::String(file.display().to_string())),
        ("doctest".to_owned(), Value::Boolean(false)),
    ]);
    // Not of the program's workspace.
    let crate_ = Table::from_iter([
        ("package".to_owned(), Value::Table(own)),
        ("lib".to_owned(), Value::Table(library)),
        ("dependencies".to_owned(), Value::Table(dependencies)),
        ("workspace".to_owned(), Value::Table(Table::new())),
    ]);
    Ok(crate_.to_string())
}

/// A dependency as a table, which may stand as a version alone.
fn as_table(dependency: &Value) -> Table {
    match dependency {
        Value::Table(table) => table.clone(),
        version => Table::from_iter([("version".to_owned(), version.clone())]),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use toml::Table;

    use super::{blanked, crate_manifest, modules};

    const PROGRAM: &str = "\
//! Grüße
use rumba::prelude::*;

#[rumba::kernels]
/// The kernels.
pub mod device {
    use cuda_std::prelude::*;
    use glam::Vec2;
}

fn kernels() { let s = \"#[kernels] mod not_one {}\"; }
#[kernels] mod more { fn f() {} } struct After;
";

    #[test]
    fn only_modules_of_kernels_stay_and_each_character_keeps_its_place() {
        let found = modules(PROGRAM).expect("tokens");
        let text = blanked(PROGRAM, &found.ranges);
        let expected = "


\x20
/// The kernels.
pub mod device {
    use cuda_std::prelude::*;
    use glam::Vec2;
}


           mod more { fn f() {} }
";
        let trimmed: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(trimmed, expected.lines().map(str::trim_end).collect::<Vec<_>>());
        let widths = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert_eq!(widths(&text), widths(PROGRAM));
        assert!(found.names.contains("glam") && !found.names.contains("rumba"));
    }

    #[test]
    fn text_that_is_no_rust_is_left_to_the_compiler() {
        assert!(modules("fn main() { \"").is_none());
        assert!(modules("fn main() {").is_none());
        assert!(modules("fn main() {}").is_some_and(|modules| modules.ranges.is_empty()));
    }

    #[test]
    fn the_crate_has_the_dependencies_that_its_kernels_name() {
        let manifest: Table = "
            [package]
            name = \"hello\"
            version = \"1.2.3\"
            edition = \"2024\"
            [dependencies]
            cuda_std = { path = \"../rumba/cuda_std\" }
            rumba = { path = \"../rumba/rumba\" }
            glam = { version = \"0.30\", default-features = false, optional = true }
            serde = \"1\"
        "
        .parse()
        .unwrap();
        let here = Path::new("/home/hello");
        let names = BTreeSet::from(["glam".to_owned()]);
        let text = crate_manifest(&manifest, here, here, Path::new("src/main.rs"), &names).unwrap();
        let made: Table = text.parse().unwrap();
        let dependencies = made["dependencies"].as_table().unwrap();
        assert_eq!(dependencies.keys().collect::<Vec<_>>(), ["cuda_std", "glam"]);
        assert_eq!(dependencies["cuda_std"]["path"].as_str(), Some("/home/hello/../rumba/cuda_std"));
        assert_eq!(dependencies["glam"].get("optional"), None);
        assert_eq!(made["package"]["version"].as_str(), Some("1.2.3"));
        assert_eq!(made["lib"]["path"].as_str(), Some("src/main.rs"));
        assert!(made["workspace"].as_table().is_some_and(Table::is_empty));
    }
}
