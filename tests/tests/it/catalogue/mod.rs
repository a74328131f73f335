//! The book's catalogue of errors: a section for each variant of each public error, with its message as the library words it.
//!
//! `UPDATE_EXPECT=1` writes the messages into the book; cause and remedy are the author's.

mod builds;
mod collectives;
mod samples;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use samples::samples;

/// Where the sources of public errors are, as seen from the workspace.
const SOURCES: &[&str] = &["host/src", "crates/cuda_std/src", "crates/cuda_builder/src"];

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

fn catalogue() -> PathBuf {
    workspace().join("book/src/errors.md")
}

/// `Enum::Variant` for each variant of each public enum that derives `thiserror::Error`.
fn variants() -> BTreeSet<String> {
    fn collect(path: &Path, names: &mut BTreeSet<String>) {
        if path.is_dir() {
            for entry in path.read_dir().expect("a folder of sources") {
                collect(&entry.expect("it can be read").path(), names);
            }
            return;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            return;
        }
        let text = std::fs::read_to_string(path).expect("sources are UTF-8");
        let (mut derives, mut open) = (false, None::<String>);
        for line in text.lines() {
            if let Some(name) = &open {
                // rustfmt indents the variants of an enum at the top of a file by four.
                let variant: String =
                    line.strip_prefix("    ").unwrap_or_default().chars().take_while(|c| c.is_alphanumeric()).collect();
                if variant.starts_with(|c: char| c.is_ascii_uppercase()) {
                    names.insert(format!("{name}::{variant}"));
                }
                if line == "}" {
                    open = None;
                }
            } else if line.starts_with("#[derive(") {
                derives = line.contains("thiserror::Error");
            } else if let Some(rest) = line.strip_prefix("pub enum ") {
                open = derives.then(|| rest.trim_end_matches(" {").to_owned());
            } else if !line.starts_with("#[") && !line.starts_with("///") {
                derives = false;
            }
        }
    }
    let mut names = BTreeSet::new();
    for folder in SOURCES {
        collect(&workspace().join(folder), &mut names);
    }
    names
}

/// The section that a line of the catalogue begins.
fn section(line: &str) -> Option<&str> {
    line.strip_prefix("### `")?.strip_suffix('`')
}

#[test]
fn the_catalogue_has_every_error_as_the_library_words_it() {
    test_processes::alone(&[("RUMBA_DEVICE", "soft")], || {
        compare(&samples());
        Ok(())
    });
}

/// Compares the catalogue with examples of all errors.
fn compare(samples: &[(&str, String)]) {
    let sampled: BTreeSet<String> = samples.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(variants(), sampled, "variants in the sources, and examples in this file");

    let text = std::fs::read_to_string(catalogue()).expect("the catalogue is UTF-8");
    let listed: BTreeSet<String> = text.lines().filter_map(section).map(str::to_owned).collect();
    assert_eq!(variants(), listed, "variants in the sources, and sections in book/src/errors.md");

    // The catalogue with every message put into the first block of its section.
    let (mut blessed, mut message, mut inside) = (String::new(), None, false);
    for line in text.lines() {
        if let Some(name) = section(line) {
            message = samples.iter().find(|sample| sample.0 == name).map(|sample| sample.1.as_str());
        }
        if line == "```" {
            inside = false;
        }
        if !inside {
            writeln!(blessed, "{line}").expect("a string takes all text");
        }
        if line == "```text"
            && let Some(message) = message.take()
        {
            writeln!(blessed, "{}", message.trim_end()).expect("a string takes all text");
            inside = true;
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(catalogue(), &blessed).expect("the catalogue can be written");
    } else if let Some((book, library)) = text.lines().zip(blessed.lines()).find(|(book, library)| book != library) {
        panic!("book/src/errors.md: the book has\n  {book}\nthe library says\n  {library}\nUPDATE_EXPECT=1 blesses it");
    }
    for (name, text) in sections(&text) {
        assert!(text.contains("**Cause.** ") && text.contains("**Remedy.** "), "{name} says no cause or no remedy");
    }
}

/// The catalogue's sections with their names.
fn sections(text: &str) -> Vec<(&str, &str)> {
    let parts = text.split("\n### `").skip(1);
    parts
        .map(|part| (part.split('`').next().unwrap_or_default(), part.split("\n## ").next().unwrap_or_default()))
        .collect()
}
