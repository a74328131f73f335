//! The table of mistakes: each message says what the table states.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::list::{MISTAKES, Message, Remedy};
use crate::{mistakes, workspace};

/// Mistakes that the table has at least.
const MISTAKES_AT_LEAST: usize = 80;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text that the user reads.
fn text(message: Message) -> String {
    match message {
        Message::Kernel(name) => read(&mistakes().join(format!("kernels/{name}.stderr"))),
        Message::Program(name) => read(&mistakes().join(format!("programs/{name}.stderr"))),
        Message::Macro(name) => read(&workspace().join(format!("crates/cuda_std/tests/ui/{name}.stderr"))),
        // The message is the section's first block.
        Message::Error(name) => {
            let catalogue = read(&workspace().join("book/src/errors.md"));
            let section = catalogue.split_once(&format!("\n### `{name}`\n"));
            let (_, section) = section.unwrap_or_else(|| panic!("book/src/errors.md has no section {name}"));
            let (_, block) = section.split_once("```text\n").expect("a section has a message");
            block.split("```").next().unwrap_or_default().to_owned()
        }
        Message::Finding(name) => {
            let reports = read(&workspace().join("tests/ui/reports.txt"));
            let report = reports.split("\n\n").find(|report| report.contains(&format!("]: kernel `{name}`: ")));
            report.unwrap_or_else(|| panic!("tests/ui/reports.txt has no report about {name}")).to_owned()
        }
    }
}

/// Whether a line of a message quotes the source: `7 |     code`.
fn is_quoted(line: &str) -> bool {
    let number = line.trim_start();
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < number.len() && rest.trim_start().starts_with('|')
}

/// A message without the code that it quotes; suggested code stays.
fn words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_suggested = |index: usize| {
        lines
            .get(index + 1)
            .is_some_and(|line| line.contains(['+', '~']) && line.chars().all(|character| " |+~-".contains(character)))
    };
    let kept = lines.iter().enumerate().filter(|(index, line)| !is_quoted(line) || is_suggested(*index));
    kept.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
}

#[test]
fn nine_of_ten_messages_say_what_to_write_and_all_say_what_is_wrong() {
    let mut wrong = Vec::new();
    let mut with_remedy = 0;
    for mistake in MISTAKES {
        let text = words(&text(mistake.message));
        if !text.lines().any(|line| line.starts_with("error") || line.starts_with("warning"))
            && !matches!(mistake.message, Message::Error(_))
            || text.trim().is_empty()
        {
            wrong.push(format!("{:?}, `{}`: no message in {:?}", mistake.author, mistake.written, mistake.message));
        }
        match mistake.remedy {
            Remedy::Says(remedy) => {
                assert!(!remedy.is_empty(), "`{}` states no words", mistake.written);
                with_remedy += 1;
                let missing = remedy.iter().filter(|words| !text.contains(*words));
                wrong.extend(missing.map(|words| {
                    format!("{:?}, `{}`: {:?} does not say {words:?}", mistake.author, mistake.written, mistake.message)
                }));
            }
            Remedy::Lacks(reason) => assert!(!reason.is_empty(), "`{}` states no reason", mistake.written),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(MISTAKES.len() >= MISTAKES_AT_LEAST, "the table has {} mistakes", MISTAKES.len());
    assert!(with_remedy * 10 >= MISTAKES.len() * 9, "{with_remedy} of {} messages have a remedy", MISTAKES.len());
}

#[test]
fn each_mistake_is_listed_once() {
    let mut written = BTreeSet::new();
    for mistake in MISTAKES {
        assert!(written.insert(mistake.written), "`{}` is listed twice", mistake.written);
    }
}

#[test]
fn each_file_has_a_row() {
    type Kind = fn(&'static str) -> Message;
    for (folder, kind) in [("kernels", Message::Kernel as Kind), ("programs", Message::Program as Kind)] {
        let files = fs::read_dir(mistakes().join(folder)).expect("a folder of mistakes");
        for file in files {
            let path = file.expect("an entry of the folder").path();
            let name = path.file_stem().expect("a file has a name").to_string_lossy().into_owned();
            let is_listed = MISTAKES.iter().any(|mistake| match mistake.message {
                Message::Kernel(listed) | Message::Program(listed) => listed == name && mistake.message == kind(listed),
                Message::Macro(_) | Message::Error(_) | Message::Finding(_) => false,
            });
            assert!(is_listed, "{folder}/{name} is in no row of the table");
        }
    }
}

#[test]
fn quoted_code_is_no_remedy() {
    let text =
        "error: wrong\n --> src/lib.rs:7:1\n  |\n7 | y.own();\n  | ^^^\nhelp: borrow\n  |\n7 | &mut y;\n  | ++++\n";
    let words = words(text);
    assert!(words.contains("error: wrong") && words.contains("&mut y") && !words.contains("y.own()"), "{words}");
}
