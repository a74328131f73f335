//! The misuse table: wrong calls of the driver API, each with the code that NVIDIA's driver answers.
//!
//! The codes were taken from driver 580 on an H200. `RUMBA_TEST_GPU=1` runs the table there too, and fails where there is
//! no GPU. Calls for which NVIDIA's driver reads invalid memory have no code, and are in the driver test instead.
//!
//! Each setting runs in a process of its own, which is started again behind a call that ends it.

#![allow(clippy::wildcard_imports, reason = "the table names a hundred calls")]

#[allow(dead_code, reason = "the table uses some of the calls")]
#[path = "../it/driver/abi.rs"]
mod abi;
mod table;
mod world;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use rumba_driver as _;
use world::World;

/// A wrong call.
struct Case {
    call: &'static str,
    /// The mistake, in words.
    words: &'static str,
    expected: (&'static str, i32),
    run: fn(&mut World) -> i32,
}

/// A state of the process, and the wrong calls in it.
struct Setting {
    name: &'static str,
    make: fn() -> World,
    /// Done before each case.
    prepare: fn(&mut World),
    cases: &'static [Case],
}

/// How a child's line with a result begins.
const RESULT: &str = "misuse";

fn main() -> ExitCode {
    // A child is asked for a setting, from one of its cases on.
    if let Some((name, first)) = test_processes::asked().as_deref().and_then(|asked| asked.split_once(' ')) {
        let setting = table::SETTINGS.iter().find(|setting| setting.name == name);
        child(setting.expect("a setting"), first.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    let devices = ["soft", "gpu"].into_iter().take(if test_processes::has_gpu() { 2 } else { 1 });
    let trials = devices.flat_map(|device| {
        let trial = move |setting: &'static Setting| {
            Trial::test(format!("{device}::{}", setting.name), move || parent(device, setting))
        };
        table::SETTINGS.iter().map(trial)
    });
    let whole = Trial::test("the_table_is_large_and_names_each_case_once", large_and_unique);
    libtest_mimic::run(&Arguments::from_args(), trials.chain([whole]).collect()).exit_code()
}

/// Runs the cases from `first` on and prints what they answer.
fn child(setting: &Setting, first: usize) {
    let mut world = (setting.make)();
    for (index, case) in setting.cases.iter().enumerate().skip(first) {
        (setting.prepare)(&mut world);
        let answered = (case.run)(&mut world);
        println!("{RESULT} {index} {answered}");
        std::io::stdout().flush().expect("the parent reads");
    }
    // The behavior of drivers at the end of a process is no part of the table.
    std::process::exit(0);
}

/// Runs all cases of a setting and compares.
fn parent(device: &str, setting: &Setting) -> Result<(), Failed> {
    let mut answers = BTreeMap::new();
    let mut said = String::new();
    let mut first = 0;
    while first < setting.cases.len() {
        let output = test_processes::run(&format!("{} {first}", setting.name), &[("RUMBA_DEVICE", device)])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let results = text.lines().filter_map(|line| {
            let (index, code) = line.strip_prefix(RESULT)?.trim().split_once(' ')?;
            Some((index.parse::<usize>().ok()?, code.parse::<i32>().ok()?))
        });
        answers.extend(results);
        if output.status.success() {
            break;
        }
        // The case behind the last answer ended the process.
        first = answers.keys().next_back().map_or(0, |last| last + 1).max(first) + 1;
        said += &String::from_utf8_lossy(&output.stderr);
    }
    let wrong = setting.cases.iter().enumerate().filter_map(|(index, case)| {
        let Case { call, words, expected: (name, code), .. } = case;
        match answers.get(&index) {
            Some(answered) if answered == code => None,
            Some(answered) => Some(format!("{call}: {words}: answers {answered}, not {code} ({name})")),
            None => Some(format!("{call}: {words}: ends the process, instead of {code} ({name})")),
        }
    });
    let wrong: Vec<String> = wrong.collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let (wrong, count, all) = (wrong.join("\n"), wrong.len(), setting.cases.len());
    Err(format!("{count} of {all} cases on {device}:\n{wrong}\n{said}").into())
}

fn large_and_unique() -> Result<(), Failed> {
    let mut names = std::collections::BTreeSet::new();
    for setting in table::SETTINGS {
        for Case { call, words, .. } in setting.cases {
            if !names.insert((setting.name, call, words)) {
                return Err(format!("{}: {call}: {words} stands there twice", setting.name).into());
            }
        }
    }
    if names.len() < 60 {
        return Err(format!("{} cases are too few", names.len()).into());
    }
    Ok(())
}
