// Takes the examples out of the documentation of `cuda_std` and out of the book. Both build scripts and the book's test
// include this file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A module of examples: one of the documentation, or a chapter of the book.
#[allow(dead_code, reason = "the device needs the kernels, the host the rest")]
struct Example {
    /// The file, and in documentation the line, as an identifier.
    name: String,
    /// The code for the device.
    kernels: String,
    /// The code for the host: in documentation the kernels and the program, for a chapter the name of its kernels.
    host: String,
    programs: Vec<Program>,
}

#[allow(dead_code, reason = "the host's build script needs it")]
struct Program {
    /// Empty: the example's own module.
    module: String,
    /// The contents of the module, with a `pub fn main`; the crate of the kernels is named `kernels`.
    code: String,
    /// It uses the checks, which a process with a GPU cannot.
    soft: bool,
}

/// The languages of the book's other blocks. Rust is compiled and run.
#[allow(dead_code, reason = "the book's test needs it")]
const OTHER_LANGUAGES: &[&str] = &["cuda", "python", "sh", "text", "toml", "yaml"];

fn workspace() -> PathBuf {
    let found = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("crates/cuda_std").is_dir());
    found.expect("the package lies in the workspace").to_owned()
}

/// All examples with a `#[kernel]` and a `fn main` in the sources of `cuda_std`, and the chapters of the book.
#[allow(dead_code, reason = "the book's test needs the parts")]
fn examples() -> Vec<Example> {
    let (sources, book) = (workspace().join("crates/cuda_std/src"), workspace().join("book/src"));
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-changed={}", book.display());
    let mut examples = Vec::new();
    for (name, text) in files(&sources, "rs") {
        let lines: Vec<&str> = text.lines().map(documentation).collect();
        for Fence { line, language, code } in fences(&lines) {
            if language.is_empty()
                && let Some((kernels, _)) = code.split_once("\nfn main()")
                && kernels.contains("#[kernel")
            {
                examples.push(Example {
                    name: format!("{name}_{line}"),
                    kernels: kernels.to_owned(),
                    host: public_main(&code),
                    programs: vec![Program {
                        module: String::new(),
                        code: String::new(),
                        soft: false,
                    }],
                });
            }
        }
    }
    let chapters = files(&book, "md").into_iter().map(|(name, text)| chapter(&name, &text));
    examples.extend(chapters.filter(|chapter| !chapter.programs.is_empty()));
    examples
}

/// A chapter of the book: the blocks without a `fn main` are a crate called `kernels`, each of the others is a program that
/// uses it, in a package whose build script says in `KERNELS_PTX` where the crate's PTX is.
#[allow(dead_code, reason = "the book's test needs the parts")]
fn chapter(name: &str, text: &str) -> Example {
    let (mut kernels, mut programs) = (String::new(), Vec::new());
    let lines: Vec<&str> = text.lines().collect();
    for Fence { line, language, code } in fences(&lines) {
        let soft = match language.as_str() {
            "rust" => false,
            "rust,soft" => true,
            _ => continue,
        };
        let module = format!("line_{line}");
        if code.contains("fn main()") {
            let code = public_main(&code);
            programs.push(Program { module, code, soft });
        } else {
            write!(kernels, "pub mod {module} {{\n{code}\n}}\npub use {module}::*;\n").expect("a string takes all text");
        }
    }
    let name = format!("book_{name}");
    Example {
        // Their programs load the PTX with all checks, one of which is that both sides are of one crate.
        host: format!("pub use ::example_kernels::{name}::kernels;\n"),
        kernels: format!("pub mod kernels {{\n{kernels}}}\n"),
        programs,
        name,
    }
}

fn public_main(code: &str) -> String {
    format!("\n{code}").replace("\nfn main()", "\npub fn main()")
}

/// The files below a folder with an extension: their paths as identifiers, and their texts.
fn files(folder: &Path, extension: &str) -> Vec<(String, String)> {
    fn collect(folder: &Path, wanted: &str, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the folder is part of the workspace") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                collect(&path, wanted, files);
            } else if path.extension().is_some_and(|extension| extension == wanted) {
                files.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(folder, extension, &mut found);
    found.sort();
    let name = |path: &Path| {
        let name = path.strip_prefix(folder).expect("found below it").with_extension("");
        name.display().to_string().replace(['/', '-'], "_")
    };
    found
        .iter()
        .map(|path| (name(path), std::fs::read_to_string(path).expect("sources are UTF-8")))
        .collect()
}

/// A line of Rust as its documentation comment says it. Other lines end a block that is not closed.
#[allow(dead_code, reason = "the book's test needs the parts")]
fn documentation(line: &str) -> &str {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    text.map_or("", |text| text.strip_prefix(' ').unwrap_or(text))
}

/// A block of code in Markdown, hidden lines included.
struct Fence {
    /// Where it begins, from 1.
    line: usize,
    /// The text behind the opening fence.
    language: String,
    code: String,
}

fn fences(lines: &[&str]) -> Vec<Fence> {
    let (mut fences, mut open) = (Vec::new(), None::<Fence>);
    for (index, line) in lines.iter().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            match open.take() {
                Some(fence) => fences.push(fence),
                None => {
                    open = Some(Fence {
                        line: index + 1,
                        language: language.to_owned(),
                        code: String::new(),
                    });
                }
            }
        } else if let Some(fence) = &mut open {
            // A hidden line of Rust starts with a mark.
            let rust = fence.language.is_empty() || fence.language.starts_with("rust");
            let shown = match line.strip_prefix("# ") {
                _ if !rust => line,
                None if *line == "#" => "",
                None => line,
                Some(hidden) => hidden,
            };
            writeln!(fence.code, "{shown}").expect("a string takes all text");
        }
    }
    fences
}
