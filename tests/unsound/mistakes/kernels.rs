//! Mistakes in kernel crates, as the builder reports them: each file of `kernels` is the source of a crate that does not compile for the
//! device, with the builder's messages beside it.
//!
//! `UPDATE_EXPECT=1 cargo test -p unsound --test mistakes kernels` blesses changed messages. The messages are those of the compiler that
//! `rust-toolchain.toml` names.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{BuildError, CudaBuilder};

use crate::{mistakes, workspace};

/// Columns before the bar of quoted code.
const GUTTER: usize = 4;

/// A kernel crate whose source changes from case to case.
struct Crate {
    folder: PathBuf,
    manifest: String,
}

impl Crate {
    fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes");
        fs::create_dir_all(folder.join("src")).expect("a folder for the crate");
        let root = workspace().canonicalize().expect("the workspace");
        // Pins versions that an offline build can find.
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file of the workspace");
        let manifest = format!(
            "[package]\nname = \"kernels\"\nedition = \"2024\"\n[workspace]\n[dependencies]\ncuda_std = {{ path = \"{}\" }}\n",
            root.join("crates/cuda_std").display()
        );
        // A dependency that needs the standard library.
        let dependency = folder.join("needs_std");
        fs::create_dir_all(dependency.join("src")).expect("a folder for the dependency");
        let package = "[package]\nname = \"needs_std\"\nedition = \"2024\"\n";
        fs::write(dependency.join("Cargo.toml"), package).expect("the manifest of the dependency");
        fs::write(dependency.join("src/lib.rs"), "pub fn noise() -> f32 {\n    0.5\n}\n").expect("the dependency");
        Self { folder, manifest }
    }

    /// The messages about a source.
    fn messages(&self, source: &str) -> Result<String, String> {
        let dependencies = source.lines().filter_map(|line| line.strip_prefix("//! dependency: "));
        let manifest = dependencies.fold(self.manifest.clone(), |manifest, line| format!("{manifest}{line}\n"));
        fs::write(self.folder.join("Cargo.toml"), manifest).expect("the manifest of the crate");
        fs::write(self.folder.join("src/lib.rs"), source).expect("the source of the crate");
        // `core` is compiled for the device once, for all tests of the workspace.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder");
        let build = CudaBuilder::new(&self.folder)
            .target_dir(target)
            .copy_to(self.folder.join("kernels.ptx"))
            .build_arg("--offline")
            .progress(false)
            .build();
        match build {
            Err(BuildError::Compile { diagnostics, .. }) => Ok(diagnostics),
            Err(other) => Err(other.to_string()),
            Ok(_) => Err("the crate compiles".to_owned()),
        }
    }
}

/// A number at the beginning of a text, and the rest.
fn number(text: &str) -> (&str, &str) {
    text.split_at(text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len())
}

/// Messages without details that change with other files: positions in the sources of libraries, the width of line numbers, the number
/// of implementations of a trait.
fn normalised(messages: &str) -> String {
    let root = workspace().canonicalize().expect("the workspace");
    let messages = messages.replace(&root.display().to_string(), "$WORKSPACE");
    let mut text = String::new();
    let mut is_own = true;
    for line in messages.trim().lines() {
        let (digits, rest) = number(line.trim_start());
        let code = rest.trim_start();
        if let Some((arrow, place)) = ["--> ", "::: "].iter().find_map(|arrow| Some((arrow, code.strip_prefix(arrow)?)))
        {
            is_own = place.starts_with("src/");
            let place = if is_own { place } else { place.split(":").next().unwrap_or(place) };
            text += &format!("{:GUTTER$}{arrow}{place}\n", "");
        } else if code.starts_with(['|', '=']) || digits.is_empty() && code.starts_with("...") && line.len() == 3 {
            text += &format!("{:>GUTTER$} {code}\n", if is_own { digits } else { "" });
        } else if !digits.is_empty() && code.starts_with(['+', '-', '~']) {
            text += &format!("{digits:>GUTTER$} {code}\n");
        } else if let Some((start, count)) = line.split_once("and ")
            && start.trim().is_empty()
            && number(count).1 == " others"
        {
            text += &format!("{start}and $N others\n");
        } else {
            text += &format!("{line}\n");
        }
    }
    text
}

#[test]
fn mistakes_in_kernels_are_reported_as_blessed() {
    let crate_of_kernels = Crate::new();
    let mut files: Vec<PathBuf> = fs::read_dir(mistakes().join("kernels"))
        .expect("the folder of kernels")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    files.sort();
    let mut changed = Vec::new();
    for file in &files {
        let source = fs::read_to_string(file).expect("sources are UTF-8");
        let name = file.file_stem().expect("a file has a name").to_string_lossy();
        let messages = crate_of_kernels.messages(&source).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let messages = normalised(&messages);
        let blessed = file.with_extension("stderr");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&blessed, messages).expect("the messages can be written");
        } else if fs::read_to_string(&blessed).unwrap_or_default() != messages {
            changed.push(format!("{name}: the builder reports\n{messages}"));
        }
    }
    assert!(changed.is_empty(), "{}\nUPDATE_EXPECT=1 blesses changed messages", changed.join("\n"));
}
