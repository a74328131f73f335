//! `cargo xtask compare-engines`: a command under `RUMBA_ENGINE=compare`, and the counts of all processes that it starts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::{doctor, shell};

/// Run tests with each launch on both engines of the software device, the interpreter and compiled code, and compare them
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask compare-engines                                 every test of the workspace
  cargo xtask compare-engines test -p rumba -- streams   some of them
  cargo xtask compare-engines conformance numba               a foreign program's tests
  cargo xtask compare-engines run saxpy                       a program of the gallery

A launch whose engines leave other memory, print something else or end in another way fails, with the thread and the address. Tests that
say which engine they want have it. Launches that could not be compared are counted by reason.")]
pub(crate) struct Args {
    /// What to run: a command of cargo xtask with its arguments [default: test]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A line that a process has written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    compared: u64,
    left_out: BTreeMap<String, u64>,
    difference: Option<String>,
}

/// The lines that all processes have written.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    processes: u64,
    compared: u64,
    left_out: BTreeMap<String, u64>,
    differences: Vec<String>,
}

impl Sums {
    fn of(text: &str) -> Result<Self> {
        let mut sums = Self::default();
        for line in text.lines() {
            let line: Line = serde_json::from_str(line).with_context(|| format!("no line of counts: {line}"))?;
            if let Some(difference) = line.difference {
                sums.differences.push(difference);
                continue;
            }
            sums.processes += 1;
            sums.compared += line.compared;
            for (reason, count) in line.left_out {
                *sums.left_out.entry(reason).or_default() += count;
            }
        }
        Ok(sums)
    }

    fn print(&self) {
        for difference in &self.differences {
            println!("{difference}\n");
        }
        println!(
            "{} launches compared in {} processes, {} differences",
            self.compared,
            self.processes,
            self.differences.len()
        );
        for (reason, count) in &self.left_out {
            println!("  {count} left out: {reason}");
        }
    }
}

pub(crate) fn run(args: Args) -> Result<()> {
    if !doctor::compiles() {
        bail!("there is no compiled code without LLVM: `cargo xtask doctor` says what is missing");
    }
    let folder = shell::target().join("compare-engines");
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let file = folder.join("counts.json");
    std::fs::write(&file, "").with_context(|| format!("could not write {}", file.display()))?;
    let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
    if args.command.is_empty() {
        command.arg("test");
    }
    command.args(&args.command);
    let outcome = shell::run(with_both(&mut command, &file));
    let text = std::fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    let sums = Sums::of(&text)?;
    sums.print();
    if !sums.differences.is_empty() {
        bail!("the engines differ in {} launches", sums.differences.len());
    }
    outcome
}

/// The environment: for the driver, and for the tests of the machine, which make devices themselves. Tests of one process run one
/// after the other: a launch beside another one is not compared, and the changes of a first run are taken back together with what
/// another thread of the host has meanwhile written to managed or mapped memory.
fn with_both<'a>(command: &'a mut Command, file: &Path) -> &'a mut Command {
    command
        .env("RUMBA_ENGINE", "compare")
        .env("RUMBA_COMPARE_JSON", file)
        .env("RUMBA_TEST_NATIVE", "compare")
        .env("RUST_TEST_THREADS", "1")
}

#[cfg(test)]
mod tests {
    use super::Sums;

    #[test]
    fn processes_are_summed() {
        let text = r#"{"compared":3,"left_out":{"a clock":1}}
{"difference":"4 bytes differ"}
{"compared":4,"left_out":{"a clock":2,"a limit":1}}"#;
        let sums = Sums::of(text).expect("these are lines of counts");
        assert_eq!(
            sums,
            Sums {
                processes: 2,
                compared: 7,
                left_out: [("a clock".to_owned(), 3), ("a limit".to_owned(), 1)].into(),
                differences: vec!["4 bytes differ".to_owned()],
            }
        );
        assert!(Sums::of("compared").is_err());
    }
}
