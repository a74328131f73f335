//! `cargo rumba new PATH`: a workspace of one's own with a kernel, a program, tests, a benchmark and a CI file.
//!
//! The files are `templates/project` of this crate, which `cargo generate` reads too: its placeholders are filled in here. In a clone
//! the project gets the versions of other crates that Rumba is tested with. Nothing of the project is built.

use crate::source::{LIBRARIES, Source};
use crate::{place, soft};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Begin a project of your own: a workspace with a kernel, a program, tests, a benchmark and a CI file
///
/// Rumba is not on crates.io yet. The project depends on Rumba's sources by their path, or with `--git` on a repository that
/// others can reach too. `cargo generate --git URL crates/cargo-rumba/templates/project` makes the same files.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo rumba new ../heat && cd ../heat && cargo test
  cargo rumba new --one-file hello && cd hello && cargo run
  cargo rumba new --python waves && cd waves && pip install .
  cargo rumba new ../heat --git https://example.org/rumba.git")]
pub struct Args {
    /// The folder to make; its last part is the name of the package
    path: PathBuf,
    /// A single package whose kernels stand in src/main.rs
    #[arg(long)]
    one_file: bool,
    /// An extension module of Python, whose kernels take arrays of NumPy, PyTorch, CuPy and Numba
    #[arg(long, conflicts_with = "one_file")]
    python: bool,
    /// Depend on Rumba by a git repository instead of by the path of its sources
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

macro_rules! files {
    ($folder:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../templates/", $folder, "/", $path)))),*]
    };
}

/// The files of a project, with placeholders in them.
const FILES: &[(&str, &str)] = files!["project":
    "Cargo.toml.liquid",
    "README.md",
    "build.rs",
    "src/main.rs",
    "kernels/Cargo.toml.liquid",
    "kernels/src/lib.rs",
    "tests/saxpy.rs",
    "tests/checks.rs",
    "benches/kernels.rs",
    ".github/workflows/ci.yml",
    ".gitignore",
];

/// The files of a program in one file.
const ONE_FILE: &[(&str, &str)] =
    files!["one-file": "Cargo.toml.liquid", ".cargo/config.toml", "build.rs", "src/main.rs"];

/// The end of a manifest's name, which `cargo generate` removes, too. Cargo leaves folders with a `Cargo.toml` out of archives.
const ENDING: &str = ".liquid";

/// The files of an extension module of Python.
const PYTHON: &[(&str, &str)] = files!["python":
    "Cargo.toml.liquid",
    "README.md",
    "build.rs",
    "pyproject.toml",
    "src/lib.rs",
    "tests/test_saxpy.py",
    ".gitignore",
];

/// The template's placeholder for the repository.
const REPOSITORY: &str = "{{rumba_git}}";

/// Runs the command.
///
/// # Errors
/// If the folder is there and not empty, its name is none of a package, or a file cannot be written.
pub fn run(Args { path, one_file, python, git }: Args) -> Result<()> {
    let path = std::path::absolute(path).context("the path of the project")?;
    let name = package_name(&path)?;
    if path.read_dir().is_ok_and(|mut entries| entries.next().is_some()) || path.is_file() {
        bail!("{} is there already and not empty; choose another path", path.display());
    }
    let source = Source::new(git)?;
    // The project's programs load it, from where it is put now.
    soft::ensure()?;
    let (files, next): (_, &[&str]) = match (one_file, python) {
        (true, _) => (ONE_FILE, &["cargo run"]),
        (_, true) => (
            PYTHON,
            &[
                "python3 -m venv .venv && . .venv/bin/activate",
                "pip install maturin numpy pytest",
                "maturin develop",
                "pytest",
            ],
        ),
        _ => (FILES, &["cargo test", "cargo run", "cargo rumba bench"]),
    };
    for (file, text) in files {
        let file = path.join(file.trim_end_matches(ENDING));
        let folder = file.parent().expect("files lie in the project");
        std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        std::fs::write(&file, fill(text, &name, &source))
            .with_context(|| format!("could not write {}", file.display()))?;
    }
    if let Some(clone) = place::clone_of_sources() {
        // Cargo keeps the versions of crates that the project uses. Rumba is tested with these, and they compile in less time.
        let (from, to) = (clone.join("Cargo.lock"), path.join("Cargo.lock"));
        std::fs::copy(&from, &to).with_context(|| format!("could not copy {}", from.display()))?;
    }
    println!("wrote {} files into {}; Rumba is {source}", files.len(), path.display());
    println!("\nNext:\n  cd {}\n  {}", path.display(), next.join("\n  "));
    Ok(())
}

/// A file of the template with its placeholders filled in.
fn fill(text: &str, name: &str, source: &Source) -> String {
    let mut text = text.replace("{{project-name}}", name).replace("{{module-name}}", &name.replace('-', "_"));
    for library in LIBRARIES {
        let name = library.name;
        let entries = source.entries(library).map(|(key, value)| format!("{key} = {value:?}")).collect::<Vec<_>>();
        let placeholder = format!("{name} = {{ git = \"{REPOSITORY}\"");
        text = text.replace(&placeholder, &format!("{name} = {{ {}", entries.join(", ")));
    }
    text.replace(REPOSITORY, &source.to_string())
}

/// The last part of the path, where cargo takes it as the name of a package.
fn package_name(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
        bail!(
            "`{name}` is no name for a package: use lower-case letters, digits, `-` and `_`, a letter first, such as \
             `heat-flow`"
        );
    }
    // Names of the project's dependencies, and names that cargo reserves.
    const TAKEN: &[&str] = &[
        "kernels", "rumba", "cuda_std", "cuda-std", "bytemuck", "cust", "test", "build", "core", "std", "alloc", "pyo3",
    ];
    if TAKEN.contains(&name) {
        bail!("`{name}` is the name of something that the project uses; choose another, such as `my-{name}`");
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{FILES, LIBRARIES, ONE_FILE, PYTHON, REPOSITORY, Source, fill, package_name};
    use crate::place;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Files that are not in a list would be made by `cargo generate` only.
    #[test]
    fn the_lists_have_every_file_of_the_templates() {
        fn collect(folder: &Path, root: &Path, files: &mut BTreeSet<String>) {
            for entry in folder.read_dir().unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    collect(&path, root, files);
                } else {
                    files.insert(path.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
        for (folder, files) in [("project", FILES), ("one-file", ONE_FILE), ("python", PYTHON)] {
            let root = place::sources().join("crates/cargo-rumba/templates").join(folder);
            let mut there = BTreeSet::new();
            collect(&root, &root, &mut there);
            // This one is for `cargo generate` alone.
            assert_eq!(there.remove("cargo-generate.toml"), folder == "project");
            let listed: BTreeSet<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
            assert_eq!(there, listed);
        }
    }

    fn repository() -> Source {
        Source::Repository { url: "https://example.org/rumba.git".to_owned(), rev: None }
    }

    #[test]
    fn no_placeholder_is_left() {
        for source in [Source::Folder(place::sources().to_owned()), repository(), Source::Registry] {
            for (path, text) in FILES.iter().chain(ONE_FILE).chain(PYTHON) {
                let text = fill(text, "heat-flow", &source);
                assert!(!text.contains("{{") && !text.contains("{%"), "{path}: {text}");
                assert!(matches!(source, Source::Folder(_)) || !text.contains("path = \"/"), "{path}: {text}");
            }
        }
    }

    /// `cargo generate` reads the template as one of liquid's. Names in double braces mean the same there.
    #[test]
    fn the_template_uses_plain_placeholders_only() {
        for (path, text) in FILES {
            assert!(!text.contains("{%") && !text.contains("{#"), "{path}");
            for placeholder in text.split("{{").skip(1) {
                let name = placeholder.split("}}").next().unwrap_or_default();
                assert!(["project-name", "rumba_git"].contains(&name), "{path}: {name}");
            }
        }
    }

    #[test]
    fn libraries_are_where_the_list_says() {
        let template = FILES[0].1;
        assert_eq!(template.matches(REPOSITORY).count(), LIBRARIES.len(), "{template}");
        for library in LIBRARIES {
            let manifest = place::sources().join(library.folder).join("Cargo.toml");
            let text = std::fs::read_to_string(&manifest).unwrap();
            assert!(text.contains(&format!("name = \"{}\"", library.package)), "{}", manifest.display());
        }
    }

    #[test]
    fn names_that_cannot_be_packages_are_refused() {
        assert_eq!(package_name(Path::new("/home/me/heat-flow2")).unwrap(), "heat-flow2");
        for name in ["", "/", "/x/Heat", "/x/2d", "/x/a b", "/x/kernels", "/x/rumba", "/x/.."] {
            assert!(package_name(Path::new(name)).is_err(), "{name}");
        }
    }
}
