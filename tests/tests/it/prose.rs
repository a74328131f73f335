//! What comments and documents say: sentences that name their subjects, and paths and names that exist.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::common::{paths_below, root};

/// A text file of the workspace.
struct File {
    /// From the workspace's root.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Lines of prose with their numbers, from 1: comments of Rust, and Markdown without its listings.
    fn prose(&self) -> Vec<(usize, &str)> {
        let mut is_listing = false;
        let mut found = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            let line = if self.is_rust() { comment(line) } else { Some(line) };
            let Some(line) = line else {
                is_listing = false;
                continue;
            };
            if line.trim_start().starts_with("```") {
                is_listing = !is_listing;
            } else if !is_listing {
                found.push((index + 1, line));
            }
        }
        found
    }

    /// Paragraphs of prose. Tables and headings are none.
    fn paragraphs(&self) -> Vec<String> {
        let mut found = vec![String::new()];
        let mut last = 0;
        for (number, line) in self.prose() {
            let text = line.trim();
            let begins = text.is_empty() || text.starts_with(['|', '#', '*', '-']) || number != last + 1;
            last = number;
            if begins {
                found.push(String::new());
            }
            if !text.starts_with(['|', '#']) {
                let paragraph = found.last_mut().expect("there is one");
                let _ = write!(paragraph, "{} ", text.trim_start_matches(['*', '-', ' ']));
            }
        }
        found
    }
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.strip_prefix(['/', '!']).unwrap_or(text))
}

/// The code of a line of Rust.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// The text files of the repository, and every path in it.
fn repository() -> (Vec<File>, BTreeSet<String>) {
    let (mut files, mut paths) = (Vec::new(), BTreeSet::new());
    for path in paths_below("") {
        let within = path.to_string_lossy().into_owned();
        if let Ok(text) = std::fs::read_to_string(root().join(&path)) {
            files.push(File { path: within.clone(), text });
        }
        paths.insert(within);
    }
    (files, paths)
}

/// Files whose prose is looked at. The change log names what is gone.
fn has_prose(file: &File) -> bool {
    (file.is_rust() || file.path.ends_with(".md")) && !file.path.ends_with("CHANGELOG.md")
}

/// Words that stand for a noun, or for nothing.
const WEAK: [&str; 19] = [
    "that", "what", "those", "which", "one", "ones", "other", "others", "it", "them", "there", "such", "so", "same",
    "is", "are", "has", "have", "as",
];

/// Sentences of as many words are looked at.
const LENGTH: RangeInclusive<usize> = 6..=28;

/// Whether two fifths of the words of a sentence are weak, if it has a length that is looked at.
fn is_riddle(sentence: &str) -> Option<bool> {
    let words = sentence.split(|c: char| !c.is_ascii_alphabetic() && c != '\'').filter(|word| !word.is_empty());
    let (mut all, mut weak) = (0, 0);
    for word in words {
        let word = word.to_ascii_lowercase();
        all += 1;
        weak += usize::from(WEAK.contains(&word.as_str()));
    }
    LENGTH.contains(&all).then_some(5 * weak >= 2 * all)
}

/// The sentences of a paragraph, without code and the targets of links.
fn sentences(paragraph: &str) -> Vec<String> {
    let without_code: String = paragraph.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let mut text = String::new();
    let mut rest = without_code.as_str();
    while let Some(at) = rest.find("](") {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once(')').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    let mut found = vec![String::new()];
    for word in text.split_whitespace() {
        let sentence = found.last_mut().expect("there is one");
        let _ = write!(sentence, "{word} ");
        if word.ends_with(['.', '!', '?']) {
            found.push(String::new());
        }
    }
    found
}

#[test]
fn sentences_name_their_subjects() {
    let (files, _) = repository();
    let (mut all, mut riddles) = (0, Vec::new());
    for file in files.iter().filter(|file| has_prose(file)) {
        for sentence in file.paragraphs().iter().flat_map(|paragraph| sentences(paragraph)) {
            if let Some(is_riddle) = is_riddle(&sentence) {
                all += 1;
                if is_riddle {
                    riddles.push(format!("{}: {sentence}", file.path));
                }
            }
        }
    }
    println!("{} of {all} sentences", riddles.len());
    assert!(all > 10_000, "{all} sentences: comments are not found any more");
    // Three of a thousand.
    assert!(1000 * riddles.len() <= 3 * all, "of {all} sentences these hide their nouns:\n{}", riddles.join("\n"));
}

#[test]
fn riddles_are_told_from_sentences() {
    for (sentence, expected) in [
        ("What lanes that wait hold there stays as it is.", Some(true)),
        ("Waiting lanes keep the values of their registers.", Some(false)),
        ("That of a program.", None),
    ] {
        assert_eq!(is_riddle(sentence), expected, "{sentence}");
    }
    let found = sentences("Of [what](there.is) it has `let x = 1.` to do. So it is!");
    assert_eq!(found, ["Of [what it has to do. ", "So it is! ", ""]);
}

/// What a comment can say of files that are not here: a new kernel's or project's, other projects'.
const ELSEWHERE: [&str; 8] = ["NAME", "docs.rs", "blur", "heat.rs", "fast.cu", "cuda/random.py", "a.rs", "profile.txt"];

/// Words of a line that are paths.
fn paths(line: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let words = line.split(|c: char| !(is_part(c) || "~<>{}$*:".contains(c)));
    let words = words.map(|word| word.trim_end_matches(['.', '/', ':'])).filter(|word| word.chars().all(is_part));
    let is_path = |word: &&str| {
        let folder = word.split('/').next().unwrap_or_default();
        let is_file = [".rs", ".md", ".toml", ".py", ".txt", ".cu"].iter().any(|end| word.ends_with(end));
        let is_folder =
            ["apps", "crates", "host", "tests", "xtask", "kernels-gpu", "book", "docs", "fuzz"].contains(&folder);
        !word.starts_with(['.', '/']) && (is_file || is_folder && word.contains('/'))
    };
    words.filter(is_path).collect()
}

#[test]
fn paths_that_are_mentioned_exist() {
    let (files, paths_here) = repository();
    let endings: BTreeSet<&str> = paths_here
        .iter()
        .flat_map(|path| [path.as_str()].into_iter().chain(path.match_indices('/').map(|(at, _)| &path[at + 1..])))
        .collect();
    let mut missing = String::new();
    for file in files.iter().filter(|file| has_prose(file)) {
        for (number, line) in file.prose() {
            for path in paths(line) {
                let is_elsewhere = ELSEWHERE.iter().any(|part| path.contains(part));
                if !endings.contains(path) && !is_elsewhere {
                    let _ = writeln!(missing, "{}:{number}: {path}", file.path);
                }
            }
        }
    }
    assert!(missing.is_empty(), "comments mention paths that do not exist:\n{missing}");
}

/// How names of other projects begin: of CUDA, its libraries and headers, of DLPack, and of functions that a build makes.
const FOREIGN: [&str; 11] =
    ["CU", "DL", "cuda", "cublas", "cufft", "curand", "nccl", "nvml", "Nvtx", "__rumba_", "__threadfence"];

/// Other names of other projects: LLVM's, Rust's core library, Numba's, PyTorch's, diffusers', CUTLASS's, PTX's; and placeholders.
const FOREIGN_NAMES: &str = "AtomicRMWInst BinOp DAGCombiner visitMSCATTER refineUniformBase SelectionDAG getSplatValue \
    panic_bounds_check slice_index_fail expect_failed unwrap_failed assert_failed_inner AssertKind secure_getenv \
    kat_vectors xoroshiro128p_normal_float32 xoroshiro128p_normal_float64 xoroshiro128p_uniform_float32 \
    create_xoroshiro128p_states init_xoroshiro128p_state init_xoroshiro128p_states_cpu NumbaPerformanceWarning \
    get_memory_info norm_sqr DistributedDataParallel cust_raw cuLink ResnetBlock2D DiagonalGaussianDistribution im2colInfo wOffset \
    hypotenuse_flat hypotenuse_strided name_reduce name_scan double_first box_filter TiledMMA _vN Enum CHECK ATTACK NextestExitCode";

/// The words of a text that can be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The parts of the names that a line has in backticks: paths, and names of several words.
fn names(line: &str) -> Vec<&str> {
    let spans = line.split('`').skip(1).step_by(2).map(|span| span.strip_suffix("()").unwrap_or(span));
    let of_several_words = |name: &str| {
        name.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
            || name
                .trim_matches('_')
                .as_bytes()
                .windows(3)
                .any(|three| three[1] == b'_' && three[0].is_ascii_lowercase() && three[2].is_ascii_lowercase())
    };
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    spans
        .filter(|span| span.split("::").all(is_name) && (span.contains("::") || of_several_words(span)))
        .flat_map(|span| span.split("::"))
        .collect()
}

#[test]
fn names_that_are_mentioned_exist() {
    let (files, _) = repository();
    let mut known = BTreeSet::new();
    for file in files.iter().filter(|file| !file.path.ends_with(".md")) {
        if file.is_rust() {
            known.extend(file.text.lines().flat_map(|line| words(code(line))));
        } else {
            known.extend(words(&file.text));
        }
    }
    known.extend(words(FOREIGN_NAMES));
    let mut missing = String::new();
    // The book speaks of other systems, whose names are nowhere else.
    for file in files.iter().filter(|file| has_prose(file) && !file.path.starts_with("book/")) {
        for (number, line) in file.prose() {
            for name in names(line) {
                let is_foreign = FOREIGN.iter().any(|start| name.starts_with(start));
                if !is_foreign && !known.contains(name) {
                    let _ = writeln!(missing, "{}:{number}: {name}", file.path);
                }
            }
        }
    }
    assert!(missing.is_empty(), "comments mention names that do not exist:\n{missing}");
}

#[test]
fn paths_and_names_are_found_in_prose() {
    let line = "See `Lowering::choose` and `emit_control(…)`, `plain`, `is_here()` in exec/shape.rs, https://a.b/c.md, `tests/it`.";
    assert_eq!(paths(line), ["exec/shape.rs", "tests/it"]);
    assert_eq!(names(line), ["Lowering", "choose", "is_here"]);
}
