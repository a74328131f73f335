//! `cargo xtask new kernel NAME`: a kernel of one's own, with a program, a test and a benchmark; `cargo xtask new project
//! PATH`: a workspace of one's own, as `cargo rumba new`.
//! What they contain is in xtask/templates; this file knows only where a kernel's files go.

use crate::shell;
use anyhow::{Context, Result, bail};
use cargo_rumba::new as project;
use std::path::PathBuf;

/// Begin a kernel in the gallery, or a project of your own
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Add a kernel with a program, a test and a benchmark, ready to run
    #[command(after_help = "Example:
  cargo xtask new kernel blur && cargo xtask run blur")]
    Kernel {
        /// Its name: a Rust identifier such as `blur` or `box_filter`
        name: String,
    },
    Project(project::Args),
}

/// The files of a new kernel: where they go, and what is in them but for the name.
const FILES: &[(&str, &str)] = &[
    ("kernels-gpu/src/NAME.rs", include_str!("../templates/kernel/kernel.rs")),
    ("host/gallery/src/bin/NAME.rs", include_str!("../templates/kernel/program.rs")),
    ("tests/src/cases/NAME.rs", include_str!("../templates/kernel/case.rs")),
];

/// The lines that make them known: the file, the line to add, and the start of the lines it is sorted among.
const LINES: &[(&str, &str, &str)] = &[
    ("kernels-gpu/src/lib.rs", "pub mod NAME;", "pub mod "),
    ("tests/src/cases/mod.rs", "mod NAME;", "mod "),
    ("tests/src/cases/mod.rs", "    &NAME::CASE,", "    &"),
];

pub(crate) fn run(args: Args) -> Result<()> {
    match args.what {
        What::Kernel { name } => kernel(&name),
        What::Project(args) => project::run(args),
    }
}

fn kernel(name: &str) -> Result<()> {
    check_name(name)?;
    let fill = |text: &str| text.replace("NAME", name);
    let files: Vec<(PathBuf, String)> =
        FILES.iter().map(|(path, text)| (shell::workspace().join(fill(path)), fill(text))).collect();
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        bail!("{} exists already; choose another name", shown(path));
    }
    // Everything is worked out before anything is written.
    let mut lists: Vec<(PathBuf, String)> = Vec::new();
    for (path, line, among) in LINES {
        let path = shell::workspace().join(path);
        let text = match lists.iter().position(|(known, _)| *known == path) {
            Some(index) => lists.remove(index).1,
            None => std::fs::read_to_string(&path).with_context(|| format!("could not read {}", shown(&path)))?,
        };
        let text = insert(&text, &fill(line), among)
            .with_context(|| format!("{} has no line that starts with `{}`", shown(&path), among.trim_end()))?;
        lists.push((path, text));
    }
    for (verb, entries) in [("wrote", files), ("added a line to", lists)] {
        for (path, text) in entries {
            std::fs::write(&path, text).with_context(|| format!("could not write {}", shown(&path)))?;
            println!("{verb} {}", shown(&path));
        }
    }
    println!("\nNext:\n  cargo xtask run {name}\n  cargo xtask test -- {name}\n  cargo xtask bench {name}");
    Ok(())
}

/// A path as seen from the workspace.
fn shown(path: &std::path::Path) -> std::path::Display<'_> {
    path.strip_prefix(shell::workspace()).unwrap_or(path).display()
}

/// The text with one more line among those that start alike, before the first that sorts behind it.
fn insert(text: &str, line: &str, among: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let alike = |index: &usize| lines[*index].starts_with(among);
    let last = (0..lines.len()).rfind(alike)?;
    let at = (0..lines.len()).filter(alike).find(|index| lines[*index] > line).unwrap_or(last + 1);
    let mut lines = lines;
    lines.insert(at, line);
    Some(lines.join("\n") + "\n")
}

/// The name becomes a module, a function, a program and a PTX entry.
fn check_name(name: &str) -> Result<()> {
    const KEYWORDS: &[&str] = &[
        "as", "async", "await", "box", "break", "const", "continue", "crate", "do", "dyn", "else", "enum", "extern",
        "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "main", "match", "mod",
        "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "test",
        "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
    ];
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(letters) {
        bail!(
            "`{name}` is no name for a kernel: use lower-case letters, digits and `_`, a letter first, such as `blur`"
        );
    }
    if KEYWORDS.contains(&name) {
        bail!("`{name}` has a meaning of its own in Rust; choose another name, such as `{name}_kernel`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check_name, insert};

    #[test]
    fn lines_are_inserted_in_order() {
        let text = "//! doc\n\nmod a;\nmod c;\n\npub fn f() {}\n";
        assert_eq!(insert(text, "mod b;", "mod ").unwrap(), "//! doc\n\nmod a;\nmod b;\nmod c;\n\npub fn f() {}\n");
        assert_eq!(insert(text, "mod d;", "mod ").unwrap(), "//! doc\n\nmod a;\nmod c;\nmod d;\n\npub fn f() {}\n");
        assert_eq!(insert(text, "use x;", "use "), None);
    }

    #[test]
    fn names_that_cannot_be_functions_are_refused() {
        check_name("box_filter2").unwrap();
        for name in ["", "Blur", "2d", "a-b", "fn", "../x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
