//! The corpus of tests/ui for other tools: runs one of its kernels, so that NVIDIA's compute-sanitizer can look at it, and
//! makes the table of what was found by whom. Checks nothing itself: what we find is what tests/trials/ui.rs has compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rumba::Device;
use rumba_tests::ui::{Case, cases};

/// NVIDIA's tools.
const TOOLS: [&str; 4] = ["memcheck", "racecheck", "initcheck", "synccheck"];

const USAGE: &str = "usage:
  sanitize list            the names of all kernels
  sanitize run NAME        runs one, on the device that RUMBA_DEVICE names
  sanitize table FILE      the table, from lines of `kernel<TAB>tool<TAB>verdict`, in Markdown";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["list"] => kernels().map(|cases| cases.iter().for_each(|case| println!("{}", case.name))),
        ["run", name] => run(name),
        ["table", file] => table(file).map(|table| print!("{table}")),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The kernels, without duplicates: for kernels of several architectures, the first.
fn kernels() -> Result<Vec<Case>> {
    let mut cases = cases()?;
    let mut known = BTreeSet::new();
    cases.retain(|case| known.insert(case.name.clone()));
    Ok(cases)
}

fn run(name: &str) -> Result<()> {
    let cases = kernels()?;
    let case = cases.iter().find(|case| case.name == name);
    let case = case.with_context(|| format!("there is no kernel `{name}`"))?;
    case.launch(&Device::new()?, &case.ptx()?)
}

/// The verdicts of a tool, by kernel and tool.
type Verdicts<'a> = BTreeMap<(&'a str, &'a str), &'a str>;

fn table(file: &str) -> Result<String> {
    let text = std::fs::read_to_string(file).with_context(|| format!("could not read {file}"))?;
    let mut verdicts = Verdicts::new();
    for line in text.lines() {
        let mut columns = line.split('\t');
        let (Some(kernel), Some(tool), Some(verdict)) = (columns.next(), columns.next(), columns.next()) else {
            bail!("{file}: `{line}` has no three columns");
        };
        verdicts.insert((kernel, tool), verdict);
    }
    let cases = kernels()?;
    let mut out = summary(&cases, &verdicts);
    for is_wrong in [true, false] {
        let _ = writeln!(out, "\n## {}\n", if is_wrong { "Wrong kernels" } else { "Right kernels" });
        let ours = if is_wrong { " finding |" } else { "" };
        let _ = writeln!(out, "| check | kernel |{ours} {} |", TOOLS.join(" | "));
        let _ = writeln!(out, "|---|---|{}{}", if is_wrong { "---|" } else { "" }, "---|".repeat(TOOLS.len()));
        for case in cases.iter().filter(|case| case.is_wrong == is_wrong) {
            let _ = write!(out, "| {} | `{}` |", case.check, case.name);
            if is_wrong {
                let missed = if case.is_missed { "missed: " } else { "" };
                let _ = write!(out, " {missed}{} |", kinds(case).join(", "));
            }
            for tool in TOOLS {
                let _ = write!(out, " {} |", verdicts.get(&(&*case.name, tool)).copied().unwrap_or("not run"));
            }
            out.push('\n');
        }
    }
    Ok(out)
}

/// The kinds that are found for certain, each once.
fn kinds(case: &Case) -> Vec<&str> {
    let is_certain = case.expected.iter().any(|expected| !expected.optional);
    let told = case.expected.iter().filter(|expected| !(is_certain && expected.optional));
    let mut kinds: Vec<&str> = told.map(|expected| &*expected.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// How many of the wrong kernels each tool reports, by check, and how many of the right ones.
fn summary(cases: &[Case], verdicts: &Verdicts<'_>) -> String {
    let mut out = format!("| kernels | Rumba | {} | any of the four |\n", TOOLS.join(" | "));
    let _ = writeln!(out, "|---|---|{}---|", "---|".repeat(TOOLS.len()));
    let mut checks: Vec<&str> = cases.iter().map(|case| case.check).collect();
    checks.sort_unstable();
    checks.dedup();
    let reports =
        |case: &Case, tool: &str| verdicts.get(&(&*case.name, tool)).is_some_and(|verdict| *verdict == "reported");
    let wrong = checks.iter().map(|check| (Some(*check), format!("wrong: {check}")));
    for (check, label) in wrong.chain([(None, "right".to_owned())]) {
        let of: Vec<&Case> = match check {
            Some(check) => cases.iter().filter(|case| case.is_wrong && case.check == check).collect(),
            None => cases.iter().filter(|case| !case.is_wrong).collect(),
        };
        if of.is_empty() {
            continue;
        }
        let ours = of.iter().filter(|case| case.is_wrong && !case.is_missed).count();
        let _ = write!(out, "| {label}, {} | {ours} |", of.len());
        for tool in TOOLS {
            let _ = write!(out, " {} |", of.iter().filter(|case| reports(case, tool)).count());
        }
        let any = of.iter().filter(|case| TOOLS.iter().any(|tool| reports(case, tool)));
        let _ = writeln!(out, " {} |", any.count());
    }
    out
}
