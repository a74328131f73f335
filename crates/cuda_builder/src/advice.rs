//! Advice after the compiler's messages about frequent mistakes in kernels: a line that suggests what to write.
//!
//! Advice never changes the outcome. For messages about the expansion of `#[kernel]` it also changes the first line.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::Diagnostic;

/// A line for messages of a kind.
struct Rule {
    /// The compiler's error codes; empty for errors without one.
    codes: &'static [&'static str],
    /// The message has one of these in it,
    says: &'static [&'static str],
    /// the message, a label or a note one of these,
    about: &'static [&'static str],
    /// and the message none of these.
    unless: &'static [&'static str],
    text: &'static str,
}

/// Codes of rustc's errors about unresolved names.
const MISSING: &[&str] = &["E0405", "E0412", "E0425", "E0432", "E0433", "E0463"];

/// Concrete number types, as rustc's messages spell them.
const NUMBERS: &[&str] = &[
    "`{integer}`",
    "`u8`",
    "`i8`",
    "`u16`",
    "`i16`",
    "`u32`",
    "`i32`",
    "`u64`",
    "`i64`",
    "`u128`",
    "`i128`",
    "`usize`",
    "`isize`",
    "`f32`",
    "`f64`",
];

/// The first that fits is printed.
const RULES: &[Rule] = &[
    Rule {
        codes: MISSING,
        says: &["`std`"],
        about: &[""],
        unless: &[],
        text: "kernels are compiled without the standard library: write `core::` for what needs no operating system, as in \
               `core::f32::consts::PI`; the mathematical functions are those of `cuda_std::GpuFloat`",
    },
    Rule {
        codes: MISSING,
        says: &["`HashMap`", "`HashSet`"],
        about: &[""],
        unless: &[],
        text: "kernels are compiled without the standard library: a table that threads share is a slice `&[Atomic<u32>]`, with open \
               addressing by `compare_exchange`, or `Shared<Table<Atomic<u32>, N>>` for a block",
    },
    Rule {
        codes: MISSING,
        says: &[
            "`alloc`",
            "`Vec`",
            "`VecDeque`",
            "`Box`",
            "`Rc`",
            "`Arc`",
            "`String`",
            "`ToString`",
            "`BTreeMap`",
            "`BTreeSet`",
        ],
        about: &[""],
        unless: &[],
        text: MEMORY,
    },
    Rule {
        codes: &[],
        says: &["cannot find macro `vec`", "cannot find macro `format`"],
        about: &[""],
        unless: &[],
        text: MEMORY,
    },
    Rule {
        codes: &[],
        says: &["cannot find macro `println`", "cannot find macro `print`"],
        about: &[""],
        unless: &[],
        text: "kernels print by `cuda_std::println!`: `use cuda_std::println;`",
    },
    Rule {
        codes: &["E0507", "E0382"],
        says: &["move"],
        about: &["`cuda_std::shared::Shared<", "`cuda_std::shared::View<", "`Shared<", "`SharedSlice<"],
        unless: &[],
        text: "`tile.read(|tile| ..)` waits for the block, reads and waits again, and borrows the memory only, so that it may stand in a loop \
               or a closure; with `sync`, the next turn of a loop starts from what `view.sync()` gives: `tile = view.sync();`",
    },
    Rule {
        codes: &["E0277"],
        says: &["cannot multiply `", "cannot divide `", "cannot add `", "cannot subtract `"],
        about: &["`{float}"],
        unless: NUMBERS,
        text: FLOAT,
    },
    Rule {
        codes: &["E0308"],
        says: &["mismatched types"],
        about: &["`, found floating-point number"],
        unless: &[],
        text: FLOAT,
    },
    Rule {
        codes: &["E0277"],
        says: &["cannot be indexed by `u32`", "cannot be indexed by `i32`", "cannot be indexed by `u64`"],
        about: &[""],
        unless: &[],
        text: "an index is a `usize`: write `x[i as usize]`; the index of the thread itself, `let i = grid::<1>();`, is one as it is",
    },
];

const MEMORY: &str = "kernels are compiled without the standard library, and allocate nothing unless they are told to: write an array of a \
                      fixed length, `[f32; 8]`, shared memory, `Shared<Tile<f32, 256>>` or `SharedSlice<f32>`, or take a slice of \
                      memory that the host has allocated; `cuda_std::heap` says how a kernel crate gets the types of `alloc`";

const FLOAT: &str = "a literal is `f32` or `f64`, and a generic number may be either: write `T::from_f64(0.5)`";

/// The advice printed with a message.
pub(crate) struct Advice {
    /// Instead of the compiler's sentence.
    pub(crate) sentence: Option<String>,
    /// Behind its notes.
    pub(crate) help: String,
}

/// The advice for a message about the kernel crate in this directory, if there is any.
pub(crate) fn find(diagnostic: &Diagnostic, crate_dir: &Path) -> Option<Advice> {
    if let Some(symbol) =
        diagnostic.message.strip_prefix("symbol `").and_then(|rest| rest.strip_suffix("` is already defined"))
    {
        return Some(named_twice(symbol, diagnostic, crate_dir));
    }
    let code = diagnostic.code.as_ref().map(|code| code.code.as_str());
    let fits = |advice: &&Rule| {
        let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
        code.map_or(advice.codes.is_empty(), |code| advice.codes.contains(&code))
            && has(&diagnostic.message, advice.says)
            && !has(&diagnostic.message, advice.unless)
            && diagnostic.texts().any(|text| has(text, advice.about))
    };
    let rule = RULES.iter().find(fits)?;
    Some(Advice { sentence: None, help: rule.text.to_owned() })
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
    use super::lines_of_kernels;

    #[test]
    fn kernels_are_found_by_their_names() {
        let text = "#[kernel]\npub fn step() {}\nfn step() {}\n// #[kernel] fn step()\n#[kernel(block = 64)]\n/// Text.\n\
                    pub fn step<T>() {}\n#[kernel(name = \"step\")]\nfn other() {}\n#[kernel] pub fn step_2() {}\n";
        assert_eq!(lines_of_kernels(text, "step").collect::<Vec<_>>(), [2, 7, 9]);
    }
}
