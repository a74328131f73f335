// Takes the examples out of the documentation of `cuda_std`. Both build scripts include this file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// An example that has a kernel: what stands before its `fn main` is for the device, the whole is for the host.
struct Example {
    /// The file and the line, as an identifier.
    name: String,
    #[allow(dead_code, reason = "one of the build scripts needs it")]
    kernels: String,
    #[allow(dead_code, reason = "the other one needs it")]
    whole: String,
}

/// All examples with a `#[kernel]` and a `fn main` in the sources of `cuda_std`.
fn examples() -> Vec<Example> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("crates/cuda_std").is_dir())
        .expect("the package lies in the workspace")
        .join("crates/cuda_std/src");
    println!("cargo::rerun-if-changed={}", source.display());
    let mut files = Vec::new();
    collect(&source, &mut files);
    files.sort();
    let mut examples = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("sources are UTF-8");
        let name = file.strip_prefix(&source).expect("found below it").with_extension("");
        let name = name.display().to_string().replace(['/', '-'], "_");
        for (line, code) in blocks(&text) {
            if let Some((kernels, _)) = code.split_once("\nfn main()")
                && kernels.contains("#[kernel")
            {
                examples.push(Example {
                    name: format!("{name}_{line}"),
                    kernels: kernels.to_owned(),
                    whole: code.replace("\nfn main()", "\npub fn main()"),
                });
            }
        }
    }
    examples
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is part of the workspace") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The blocks of Rust code in documentation comments with their lines, hidden lines included.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let Some(line) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else {
            continue;
        };
        let line = line.strip_prefix(' ').unwrap_or(line);
        if let Some(language) = line.strip_prefix("```") {
            open = match open.take() {
                Some((start, true, code)) => {
                    blocks.push((start, code));
                    None
                }
                Some(_) => None,
                None => Some((index + 1, language.is_empty(), String::new())),
            };
        } else if let Some((_, true, code)) = &mut open {
            // A hidden line starts with a mark.
            let shown = if line == "#" {
                ""
            } else {
                line.strip_prefix("# ").unwrap_or(line)
            };
            writeln!(code, "{shown}").expect("a string takes all text");
        }
    }
    blocks
}
