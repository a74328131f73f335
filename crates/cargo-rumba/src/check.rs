//! `cargo rumba check`: any program that uses the CUDA driver, under every check of the software device.

use crate::{place, program, setup, shell};
use anyhow::{Context, Result, bail};
use rumba_interface::check::{Severity, Tally, counted};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Run a program on the software device under all of its checks
///
/// The program is any that uses the CUDA driver. Without one, `cargo test` of the project in this folder is run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo rumba check                            the project's tests
  cargo rumba check -- cargo run               its program
  cargo rumba check -- python3 script.py       a script with Numba, unchanged
  cargo rumba check --only race -- ./a.out     a program in C or C++ on the CUDA driver API
  cargo rumba check --schedules 20 -- ./a.out  in 20 orders of blocks, warps and lanes
  cargo rumba check --seed 7 -- ./a.out        in one of them, as a report of --schedules names it
  cargo rumba check --orders 1000 -- ./a.out   in all orders in which threads synchronise, up to so many of each launch

A finding names the kernel, both threads and the line of each, the address and what lies there. A program in another language
loads libcuda.so.1 with PTX in it or beside it, and runs unchanged; Numba's lines need @cuda.jit(lineinfo=True), nvcc's -lineinfo.
The command fails if there are findings, and if nothing was checked. In a test: rumba::check(|gpu| ..)")]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// The program and its arguments, after `--` [default: cargo test]
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

/// What is looked for, and in which orders of threads.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The checks, as RUMBA_CHECK names them (`mem,race`); the message for a wrong name lists them
    #[arg(long, value_name = "CHECKS", default_value = "all")]
    only: String,
    /// Run it this many times, each in another order of its threads
    #[arg(long, value_name = "N")]
    schedules: Option<u64>,
    /// The order to run it in, or the first of --schedules
    #[arg(long)]
    seed: Option<u64>,
    /// Run each launch in all orders of its synchronising operations, in this many at most
    #[arg(long, value_name = "N", conflicts_with_all = ["schedules", "seed"])]
    orders: Option<u64>,
}

/// Runs `cargo rumba check`.
///
/// # Errors
/// If there are findings, if nothing was checked, or if the program fails.
pub fn run(args: Args) -> Result<()> {
    let program = if args.program.is_empty() { ["cargo", "test"].map(str::to_owned).to_vec() } else { args.program };
    program_of_any_kind(&args.options, &program)
}

/// Runs any program and its arguments under checks.
///
/// # Errors
/// As [`run`].
pub fn program_of_any_kind(options: &Options, words: &[String]) -> Result<()> {
    let [name, args @ ..] = words else { bail!("which program? Name it behind `--`") };
    setup::ensure()?;
    let driver = program::Driver::new()?;
    let command = || driver.command(name, args);
    checked(options, &Program { name: &words.join(" "), again: "", args: words, command: &command })
}

/// A program to check.
pub struct Program<'a> {
    /// The name for messages.
    pub name: &'a str,
    /// The words of a command that repeats a run, between the name of the command and its options.
    pub again: &'a str,
    /// The words behind `--`.
    pub args: &'a [String],
    /// Returns a run of the program.
    pub command: &'a dyn Fn() -> Command,
}

/// A line of the file that `RUMBA_CHECK_JSON` names.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Finding(Finding),
    /// At the end of each process.
    Counts {
        launches: u64,
    },
}

/// As much of a finding as tells it from others; the program's output has the rest.
#[derive(Deserialize)]
struct Finding {
    kind: String,
    severity: Severity,
    kernel: Option<String>,
    sides: Vec<Side>,
    count: u64,
}

#[derive(Deserialize)]
struct Side {
    locations: Vec<Location>,
    ptx: String,
    ptx_line: u32,
}

#[derive(Deserialize)]
struct Location {
    file: String,
    line: u32,
}

impl Finding {
    /// "DataRace in `reduce`, a.rs:7 and a.rs:9".
    fn name(&self) -> String {
        let mut lines: Vec<String> = self
            .sides
            .iter()
            .map(|side| match side.locations.first() {
                Some(Location { file, line }) => format!("{file}:{line}"),
                None => format!("{}:{}", side.ptx, side.ptx_line),
            })
            .collect();
        lines.sort();
        let kernel = self.kernel.as_ref().map_or_else(String::new, |kernel| format!(" in `{kernel}`"));
        let lines = lines.join(" and ");
        format!("{}{kernel}{}{lines}", self.kind, if lines.is_empty() { "" } else { ", " })
    }
}

/// A finding in all runs.
struct Total {
    /// The first order that it was found in, if orders are tried.
    seed: Option<u64>,
    runs: u64,
    times: u64,
    severity: Severity,
}

/// Runs a program under checks, and prints a table of its findings.
///
/// # Errors
/// As [`run`].
pub fn checked(options: &Options, program: &Program<'_>) -> Result<()> {
    let name = program.name;
    let folder = place::output();
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let file = folder.join("findings.json");
    let seeds: Vec<Option<u64>> = match (options.schedules, options.seed) {
        (None, seed) => vec![seed],
        (Some(schedules), first) => {
            let first = first.unwrap_or(0);
            (first..first.saturating_add(schedules.max(1))).map(Some).collect()
        }
    };
    let (mut totals, mut failure) = (BTreeMap::<String, Total>::new(), None);
    let (mut processes, mut launches) = (0, 0);
    for seed in &seeds {
        std::fs::write(&file, "").with_context(|| format!("could not write {}", file.display()))?;
        let mut command = (program.command)();
        command.env("RUMBA_CHECK", &options.only).env("RUMBA_CHECK_JSON", &file);
        if let Some(seed) = seed {
            command.env("RUMBA_CHECK_SEED", seed.to_string());
        }
        if let Some(orders) = options.orders {
            command.env("RUMBA_CHECK_ORDERS", orders.to_string());
        }
        if let Err(error) = shell::run(&mut command) {
            failure.get_or_insert(error);
        }
        let mut names = BTreeMap::<String, (u64, Severity)>::new();
        for line in read(&file)? {
            let finding = match line {
                Line::Finding(finding) => finding,
                Line::Counts { launches: of_process } => {
                    processes += 1;
                    launches += of_process;
                    continue;
                }
            };
            let (times, severity) = names.entry(finding.name()).or_insert((0, finding.severity));
            *times += finding.count;
            *severity = finding.severity.max(*severity);
        }
        for (name, (times, severity)) in names {
            let total = totals.entry(name).or_insert(Total { seed: *seed, runs: 0, times: 0, severity });
            total.runs += 1;
            total.times += times;
            total.severity = severity.max(total.severity);
        }
    }
    let orders = match seeds.len() {
        1 => String::new(),
        many => format!(", {} of threads", counted(many as u64, "order")),
    };
    if totals.is_empty() {
        if let Some(error) = failure {
            return Err(error).context("the program failed; what it said stands above");
        }
        if processes == 0 {
            bail!(
                "{name} has not used the software device, so nothing was checked: it did not load `libcuda.so.1` by LD_LIBRARY_PATH, \
                 as a program with its own path to the driver does, or it was ended by a signal or by `_exit`"
            );
        }
        if launches == 0 {
            bail!("{name} has launched no kernel, so nothing was checked");
        }
        println!(
            "{name}: {} in {} (RUMBA_CHECK={}{orders})",
            Tally::default(),
            counted(launches, "launch"),
            options.only
        );
        return Ok(());
    }
    for (finding, total) in &totals {
        println!(
            "{finding}: {}, in {} of {}",
            counted(total.times, "time"),
            total.runs,
            counted(seeds.len() as u64, "run")
        );
        if let Some(seed) = total.seed {
            let (command, again) = (place::program(), program.again);
            println!("  again: {command} check{again} --seed {seed}{}", rest(options, program.args));
        }
    }
    bail!(
        "{name}: {} (RUMBA_CHECK={}{orders}); the reports stand above, those of the last run as JSON in {}",
        totals.values().map(|total| total.severity).collect::<Tally>(),
        options.only,
        file.display()
    )
}

fn read(file: &Path) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(file)?;
    let found = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    found.with_context(|| format!("{} has another form", file.display()))
}

/// The arguments of a command that repeats the run.
fn rest(options: &Options, args: &[String]) -> String {
    let mut rest = String::new();
    if let Some(orders) = options.orders {
        rest += &format!(" --orders {orders}");
    }
    if options.only != "all" {
        rest += &format!(" --only {}", options.only);
    }
    if !args.is_empty() {
        rest += &format!(" -- {}", args.join(" "));
    }
    rest
}
