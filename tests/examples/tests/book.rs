//! Checks the references of the book. `crates/cargo-rumba/tests/projects.rs` runs its programs in a project as readers make it.

use std::collections::BTreeSet;

include!("../extract.rs");

/// The chapters: name and text.
fn chapters() -> Vec<(String, String)> {
    files(&workspace().join("book/src"), "md")
}

#[test]
fn every_block_says_its_language() {
    for (name, text) in chapters() {
        let lines: Vec<&str> = text.lines().collect();
        for Fence { line, language, .. } in fences(&lines) {
            let known = ["rust", "rust,soft", "rust,build", "rust,include", "rust,python"].contains(&&*language)
                || OTHER_LANGUAGES.contains(&&*language);
            assert!(known, "{name}, line {line}: a block of `{language}`");
        }
    }
}

/// Blocks of `rust,include` show a source that is tested elsewhere, or a part of it between a mark and its end.
#[test]
fn every_part_of_a_source_that_is_shown_is_there() {
    let source = workspace().join("book/src");
    let mut seen = 0;
    for (name, text) in chapters() {
        let lines: Vec<&str> = text.lines().collect();
        for Fence { line, language, code } in fences(&lines) {
            if language != "rust,include" {
                continue;
            }
            let shown = code.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
            let Some(shown) = shown else {
                panic!("{name}, line {line}: no `{{{{#include FILE:ANCHOR}}}}`");
            };
            let (file, anchor) = shown.rsplit_once(':').unwrap_or((shown, ""));
            let text =
                std::fs::read_to_string(source.join(file)).unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
            let mark = |word: &str| text.lines().position(|line| line.trim() == format!("// {word}: {anchor}"));
            seen += 1;
            if anchor.is_empty() {
                continue;
            }
            assert!(
                mark("ANCHOR").zip(mark("ANCHOR_END")).is_some_and(|(start, end)| start < end),
                "{name}, line {line}: {file} has no part `{anchor}`"
            );
        }
    }
    assert!(seen > 10, "{seen} parts were looked up");
}

/// Blocks of `rust,python` show functions of the project that `cargo rumba new --python` writes.
#[test]
fn functions_for_python_are_those_of_the_template() {
    let file = workspace().join("crates/cargo-rumba/templates/python/src/lib.rs");
    let template = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut seen = 0;
    for (name, text) in chapters() {
        let lines: Vec<&str> = text.lines().collect();
        for Fence { line, code, .. } in fences(&lines).into_iter().filter(|fence| fence.language == "rust,python") {
            for part in code.trim().split("\n\n") {
                assert!(template.contains(part), "{name}, block of line {line}: the template has no\n{part}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 3, "{seen} parts");
}

#[test]
fn every_chapter_is_in_the_summary_and_every_link_leads_somewhere() {
    let source = workspace().join("book/src");
    let mut linked = BTreeSet::from(["SUMMARY".to_owned()]);
    for (name, text) in chapters() {
        for link in prose(&text).split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            if link.starts_with("https://") || link.contains(' ') {
                continue;
            }
            let path = if file.is_empty() { source.join(name.replace('_', "-") + ".md") } else { source.join(file) };
            assert!(path.is_file(), "{name}: {link}");
            if !anchor.is_empty() {
                let target = std::fs::read_to_string(&path).expect("chapters are UTF-8");
                let headings: Vec<String> =
                    target.lines().filter(|line| line.starts_with('#')).map(anchor_of).collect();
                assert!(headings.iter().any(|known| known == anchor), "{name}: {link} is none of {headings:?}");
            }
            if name == "SUMMARY" {
                linked.insert(file.trim_end_matches(".md").replace('-', "_"));
            }
        }
    }
    let there: BTreeSet<String> = chapters().into_iter().map(|(name, _)| name).collect();
    assert_eq!(there, linked);
}

/// The last column of the table of features names files, functions in them (`file::name`) and programs that
/// `cargo xtask run` starts: the gallery's, and packages in apps/.
#[test]
fn features_are_shown_by_what_is_there() {
    let text = std::fs::read_to_string(workspace().join("book/src/features.md")).expect("chapters are UTF-8");
    let mut seen = 0;
    for row in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| feature")) {
        let shown = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let names: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "nothing shows {row}");
        for name in names {
            let (file, function) = match (name.strip_prefix("cargo xtask run "), name.split_once("::")) {
                (Some(program), _) => (source_of(program), "main"),
                (None, Some((file, function))) => (file.to_owned(), function),
                (None, None) => (name.to_owned(), ""),
            };
            let text = std::fs::read_to_string(workspace().join(&file));
            let text = text.unwrap_or_else(|error| panic!("{row}\n{file}: {error}"));
            assert!(function.is_empty() || text.contains(&format!("fn {function}(")), "{file} has no `{function}`");
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen} names were looked up");
}

/// The file with the `main` of a program that `cargo xtask run` starts.
fn source_of(program: &str) -> String {
    let package = format!("apps/{program}/src/main.rs");
    match workspace().join(&package).exists() {
        true => package,
        false => format!("host/gallery/src/bin/{program}.rs"),
    }
}

/// The text without its code.
fn prose(text: &str) -> String {
    let outside = |text: &str, mark: &str| -> String {
        let parts = text.split(mark).enumerate();
        parts.filter(|(index, _)| index % 2 == 0).map(|(_, part)| part).collect()
    };
    outside(&outside(text, "\n```"), "`")
}

/// The anchor that mdBook gives a heading.
fn anchor_of(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
