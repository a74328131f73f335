//! The machine's coverage of PTX: a form that is lost shows. And what names instructions.

use std::path::{Path, PathBuf};

use crate::coverage::{LISTS, List, Verdict};
use rumba_vm::isa::unsupported;
use rumba_vm::isa::{self, INSTRUCTIONS};
use rumba_vm::{Config, Device};

fn device() -> Device {
    let config = Config { memory_bytes: 64 << 20, workers: 1, ..Config::default() };
    Device::new(config).unwrap()
}

#[test]
fn every_form_in_scope_is_covered() {
    let device = device();
    let mut missing = Vec::new();
    for list in LISTS {
        assert!(!list.forms().is_empty(), "{} ({}) is empty", list.name, list.about);
        for form in list.forms() {
            if let Verdict::Missing { instruction, reason } = crate::coverage::check(&device, &form) {
                missing.push(format!("{form} of {}: `{instruction}`: {reason}", list.name));
            }
        }
    }
    assert!(missing.is_empty(), "{} are missing:\n{}", missing.len(), missing.join("\n"));
}

/// What `isa/unsupported.rs` leaves out of everything that LLVM can print: textures and some forms of tensor memory, and nothing
/// of what copies and multiplies tensors otherwise.
#[test]
fn only_textures_and_forms_of_tensor_memory_are_out_of_scope() {
    let left_out = ["tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq", "tcgen05"];
    let copies = |form: &str| {
        ["wgmma.", "tensormap.", "multimem."].iter().any(|start| form.starts_with(start))
            || form.starts_with("cp.") && form.contains(".tensor.")
    };
    let forms = LISTS[0].forms();
    assert_eq!(forms.iter().filter(|form| copies(form)).count(), 168);
    for form in forms {
        if unsupported::reason(crate::coverage::family(&form), &form.split('.').skip(1).collect::<Vec<_>>()).is_some() {
            assert!(left_out.contains(&crate::coverage::family(&form)), "{form}");
        }
    }
    for entry in unsupported::UNSUPPORTED {
        for opcode in entry.opcodes {
            assert!(left_out.contains(&crate::coverage::family(opcode)), "{opcode}");
        }
    }
}

/// An instruction whose operand is declared before it, which a line of a list cannot say; `control.rs` has it.
const NOT_LISTED: &str = "brx";

#[test]
fn every_instruction_is_in_a_list() {
    let listed: Vec<String> = LISTS.iter().flat_map(List::forms).collect();
    let is_listed = |name: &str| listed.iter().any(|form| crate::coverage::family(form) == name);
    let names = INSTRUCTIONS.iter().map(|instruction| instruction.name);
    let missing: Vec<&str> = names.filter(|name| *name != NOT_LISTED && !is_listed(name)).collect();
    assert!(missing.is_empty(), "no list has a form of {missing:?}: add them to data/ptx-manual.txt");
}

/// Statements, each after the verdict of NVIDIA's assembler (ptxas 13.5, the best of sm_90a, sm_100a, sm_103a, sm_120a):
/// generated ones, and those with a modifier or an operand dropped, added or replaced. Before `!` stand those of which
/// the machine thinks differently.
const VERDICTS: &str = include_str!("../ptxas.txt");

#[test]
fn the_machine_accepts_and_refuses_what_nvidias_assembler_does() {
    let device = device();
    let mut wrong = Vec::new();
    for line in VERDICTS.lines() {
        let (verdict, statement) = line.split_once(' ').unwrap();
        let accepted = crate::coverage::accepts(&device, statement);
        let expected = verdict.starts_with('+') != verdict.ends_with('!');
        if accepted.is_ok() != expected {
            wrong.push(format!("{line}: {accepted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(VERDICTS.lines().count() >= 1000);
}

/// Words outside of the instruction set that are mnemonics, too, with the files that have them.
const OTHER_WORDS: [(&str, &str); 11] = [
    // Instructions of LLVM.
    ("arith/primitive.rs", "add"),
    ("arith/primitive.rs", "and"),
    ("arith/primitive.rs", "copysign"),
    ("arith/primitive.rs", "fma"),
    ("arith/primitive.rs", "mul"),
    ("arith/primitive.rs", "shl"),
    ("arith/primitive.rs", "sqrt"),
    ("arith/primitive.rs", "sub"),
    // Words for actions of threads in reports.
    ("exec/sync.rs", "barrier"),
    ("exec/sync.rs", "exit"),
    // A feature of the host's processor.
    ("machine/op.rs", "fma"),
];

/// Whether a word is an opcode, or a mnemonic.
fn is_opcode(word: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._:".contains(c);
    let mnemonic = crate::coverage::family(word);
    let is_unsupported = |opcode: &&str| crate::coverage::family(opcode) == mnemonic;
    let mut unsupported = unsupported::UNSUPPORTED.iter().flat_map(|entry| entry.opcodes);
    word.chars().all(is_word) && (isa::find(mnemonic).is_some() || unsupported.any(is_unsupported))
}

/// The code of a source file: without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    text[..end].lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// The instructions that code names: in texts (`"bar"`, `"bar.warp"`) and in paths (`isa::shfl`).
fn named(code: &str) -> Vec<String> {
    let texts = code.replace("'\"'", "").replace("\\\"", "");
    let texts = texts.split('"').skip(1).step_by(2).filter(|text| is_opcode(text));
    let mut words: Vec<String> = texts.map(str::to_owned).collect();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for rest in code.split("isa::").skip(1) {
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or(list),
            None => rest.split(|c| !is_name(c)).next().unwrap_or(rest),
        };
        let names = names.split(|c| !is_name(c));
        words.extend(names.filter(|name| is_opcode(name.trim_end_matches('_'))).map(str::to_owned));
    }
    words
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_files(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn only_the_instruction_set_names_instructions() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/rumba-vm/src");
    let mut files = Vec::new();
    add_files(&sources, &mut files);
    let (mut wrong, mut used) = (Vec::new(), Vec::new());
    for path in files {
        let name = path.strip_prefix(&sources).unwrap().to_str().unwrap();
        if name.starts_with("isa/") {
            continue;
        }
        for word in named(&code(&std::fs::read_to_string(&path).unwrap())) {
            match OTHER_WORDS.iter().find(|other| **other == (name, word.as_str())) {
                Some(other) => used.push(*other),
                None => wrong.push(format!("{name}: {word}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "what depends on an instruction belongs into its file, as a field of `Instruction`:\n{}",
        wrong.join("\n")
    );
    for other in OTHER_WORDS {
        assert!(used.contains(&other), "{other:?} is no longer there");
    }
}

#[test]
fn names_of_instructions_are_found() {
    let names = |text: &str| named(&code(text)).join(" ");
    assert_eq!(names(r#"matches!(name, "bar.warp" | "st" | "barrier {id}" | "bars")"#), "bar.warp st");
    assert_eq!(names(r#"if c == '"' { "\"" } else { "tex" }"#), "tex");
    assert_eq!(names("use crate::isa::shfl; use crate::isa::{self, vote, shape};"), "shfl vote");
    assert_eq!(names("isa::match_::all(x); isa::shape::unary(f)"), "match_");
    assert_eq!(names("// like \"bar\"\nlet x = 1;\n#[cfg(test)]\nmod tests { \"bar\" }"), "");
}
