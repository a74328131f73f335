//! Advice after the compiler's messages about frequent mistakes in kernels: a line that suggests what to write.
//!
//! Advice never changes the outcome. For messages about the expansion of `#[kernel]` it also changes the first line.

use std::fs;
use std::path::{Path, PathBuf};

use self::rules::RULES;
use crate::cargo::Diagnostic;

mod rules;

/// The advice printed with a message.
pub(crate) struct Advice {
    /// Instead of the compiler's sentence.
    pub(crate) sentence: Option<String>,
    /// Behind its notes.
    pub(crate) help: String,
    /// Whether the compiler's own suggestion, to add a crate of a registry, is left out.
    pub(crate) replaces_crate: bool,
}

/// The advice for a message about the kernel crate in this directory, if there is any.
pub(crate) fn find(diagnostic: &Diagnostic, crate_dir: &Path) -> Option<Advice> {
    if let Some(symbol) =
        diagnostic.message.strip_prefix("symbol `").and_then(|rest| rest.strip_suffix("` is already defined"))
    {
        return Some(named_twice(symbol, diagnostic, crate_dir));
    }
    let code = diagnostic.code.as_ref().map(|code| code.code.as_str());
    let rule = RULES.iter().find(|rule| {
        let has = |text: &str, patterns: &[&str]| patterns.iter().any(|pattern| contains(text, pattern));
        code.map_or(rule.codes.is_empty(), |code| rule.codes.contains(&code))
            && has(&diagnostic.message, rule.says)
            && !has(&diagnostic.message, rule.unless)
            && (rule.about.is_empty() || diagnostic.texts().any(|text| has(text, rule.about)))
            && (rule.source.is_empty() || diagnostic.source().any(|line| has(line, rule.source)))
    })?;
    let replaces_crate = diagnostic.message.starts_with("cannot find module or crate");
    Some(Advice { sentence: None, help: rule.text.to_owned(), replaces_crate })
}

/// Whether a text contains a pattern, in which `..` stands for any text.
fn contains(text: &str, pattern: &str) -> bool {
    let mut rest = Some(text);
    for part in pattern.split("..") {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, behind)| behind);
    }
    rest.is_some()
}

/// The message about a symbol that two functions define: of kernels, with both places.
fn named_twice(symbol: &str, diagnostic: &Diagnostic, crate_dir: &Path) -> Advice {
    // The symbols of a kernel are its own, and those that tell the builder of it.
    let kernel = ["contract_", "arch_", "kernel_", "grid_constants_"]
        .iter()
        .find_map(|what| symbol.strip_prefix("__rumba_")?.strip_prefix(what))
        .unwrap_or(symbol);
    let mut files = Vec::new();
    sources(&crate_dir.join("src"), &mut files);
    let here = diagnostic.place().and_then(|(file, line)| {
        let mut found = crate_dir.ancestors().map(|folder| folder.join(file));
        Some((found.find(|path| path.is_file())?, line))
    });
    // A file that a build script has written lies elsewhere.
    if let Some((file, _)) = &here
        && !files.contains(file)
    {
        files.push(file.clone());
    }
    let mut others: Vec<(&Path, usize)> = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).unwrap_or_default();
        others.extend(lines_of_kernels(&text, kernel).map(|line| (file.as_path(), line)));
    }
    // The compiler shows the attribute, which stands before the function.
    if let Some((file, line)) = &here
        && let Some(own) = others.iter().position(|(other, at)| file == other && at >= line)
    {
        others.remove(own);
    }
    let name = |(file, line): &(&Path, usize)| {
        let file = file.strip_prefix(crate_dir).unwrap_or(file);
        format!("{}:{line}", file.display())
    };
    let others = match others.as_slice() {
        [] => "the other is in this crate as well".to_owned(),
        [other] => format!("the other is at {}", name(other)),
        others => format!("the others are at {}", others.iter().map(name).collect::<Vec<_>>().join(", ")),
    };
    Advice {
        sentence: Some(format!("two kernels have the name `{kernel}`")),
        help: format!(
            "{others}; kernels are found by their names, whatever modules their functions are in: give one another name, \
             `#[kernel(name = \"other_{kernel}\")]`"
        ),
        replaces_crate: false,
    }
}

/// The source files in a folder, sorted.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The lines, from 1, of the functions of this name, or that state it, to which `#[kernel]` belongs.
fn lines_of_kernels<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let mut is_kernel = false;
    let mut is_stated = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let line = line.trim_start();
        if line.starts_with("#[kernel") {
            is_kernel = true;
            is_stated = line.contains(&format!("name = \"{name}\""));
        }
        let function = line.split_once("fn ").map(|(_, rest)| rest)?;
        if line.starts_with("//") {
            return None;
        }
        let end = function.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let has_name = &function[..end.unwrap_or(function.len())] == name;
        let is_found = is_kernel && (is_stated || has_name);
        is_kernel = false;
        is_found.then_some(index + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::{contains, lines_of_kernels};

    #[test]
    fn parts_of_a_pattern_are_found_in_order() {
        let text = "expected type parameter `T`, found floating-point number";
        assert!(contains(text, "parameter `..`, found floating"));
        assert!(contains(text, "type parameter"));
        assert!(!contains(text, "found floating..parameter"));
        assert!(!contains(text, "parameter `..`, found integer"));
    }

    #[test]
    fn kernels_are_found_by_their_names() {
        let text = "#[kernel]\npub fn step() {}\nfn step() {}\n// #[kernel] fn step()\n#[kernel(block = 64)]\n/// Text.\n\
                    pub fn step<T>() {}\n#[kernel(name = \"step\")]\nfn other() {}\n#[kernel] pub fn step_2() {}\n";
        assert_eq!(lines_of_kernels(text, "step").collect::<Vec<_>>(), [2, 7, 9]);
    }
}
