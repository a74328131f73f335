//! `cargo xtask check`: a program under every check of the software device: one of the gallery, or any that uses the CUDA driver.
//!
//! A program in C, C++ or Python loads `libcuda.so.1` by `LD_LIBRARY_PATH`. Python finds `check/sitecustomize.py` as well, which
//! makes numba-cuda link PTX.

use crate::gallery::{self, Device};
use crate::{libcuda, setup, shell, soft};
use anyhow::{Context, Result, bail};
use rumba_interface::check::{Severity, Tally, counted};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run a program on the software device under all of its checks: one of the gallery, or any CUDA program
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask check reduce
  cargo xtask check matmul -- --n 64          small sizes: races are looked for at every access
  cargo xtask check matmul --only mem         memory accesses alone, at full speed
  cargo xtask check scan --schedules 20       in 20 orders of blocks, warps and lanes
  cargo xtask check scan --seed 7             in one of them, as a report of --schedules names it
  cargo xtask check scan --orders 1000        in all orders in which threads synchronise, up to so many of each launch
  cargo xtask check -- python3 script.py      a script with Numba, unchanged
  cargo xtask check --only race -- ./a.out    a program in C or C++ on the CUDA driver API

A finding names the kernel, both threads and the line of each, the address and what lies there. A program without a name
of the gallery loads libcuda.so.1 with PTX in it or beside it, and runs unchanged; Numba's lines need
@cuda.jit(lineinfo=True), nvcc's -lineinfo. The command fails if there are findings. In a test: rumba::check(|gpu| ..)")]
pub(crate) struct Args {
    /// The program: a file in host/gallery/src/bin; without one, any program behind `--`
    #[arg(required_unless_present = "args")]
    name: Option<String>,
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
    /// Arguments for the program, after `--`; without a NAME, a program and its arguments
    #[arg(last = true, value_name = "PROGRAM|ARGS")]
    args: Vec<String>,
}

/// A program to check.
enum Program {
    Gallery(String),
    Any {
        /// The folder of our `libcuda.so.1`.
        driver: PathBuf,
        /// The folder of what Python imports first.
        python: PathBuf,
    },
}

impl Program {
    /// The program that is asked for, built if it is one of the gallery, and what it needs.
    fn ready(args: &Args) -> Result<Self> {
        let Some(name) = &args.name else {
            setup::ensure()?;
            soft::ensure()?;
            let python = shell::target().join("driver/python");
            std::fs::create_dir_all(&python)
                .and_then(|()| std::fs::write(python.join("sitecustomize.py"), include_str!("check/sitecustomize.py")))
                .with_context(|| format!("could not write to {}", python.display()))?;
            return Ok(Self::Any { driver: libcuda::folder()?, python });
        };
        let name = gallery::find(name)?;
        setup::ensure()?;
        gallery::build(std::slice::from_ref(&name), gallery::Profile::Dev)?;
        Ok(Self::Gallery(name))
    }

    /// A run with these arguments.
    fn command(&self, args: &[String]) -> Command {
        match self {
            Self::Gallery(name) => {
                let mut command = gallery::command(name, gallery::Profile::Dev, Some(Device::Soft));
                command.args(args);
                command
            }
            Self::Any { driver, python } => {
                let [program, args @ ..] = args else { unreachable!("the parser asks for a program") };
                let mut command = Command::new(program);
                command.args(args).env("RUMBA_DEVICE", Device::Soft.name());
                // Numba 0.61 and older look for the driver by a variable of their own.
                command.env("NUMBA_CUDA_DRIVER", driver.join("libcuda.so.1"));
                for (variable, folder) in [("LD_LIBRARY_PATH", driver), ("PYTHONPATH", python)] {
                    let others = std::env::var_os(variable).unwrap_or_default();
                    let others = std::env::split_paths(&others).filter(|folder| !folder.as_os_str().is_empty());
                    let folders = std::env::join_paths(std::iter::once(folder.clone()).chain(others));
                    command.env(variable, folders.unwrap_or_else(|_| folder.clone().into()));
                }
                command
            }
        }
    }

    /// The name for messages.
    fn name<'a>(&'a self, args: &'a [String]) -> &'a str {
        match self {
            Self::Gallery(name) => name,
            Self::Any { .. } => &args[0],
        }
    }
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

pub(crate) fn run(args: Args) -> Result<()> {
    let program = Program::ready(&args)?;
    let name = program.name(&args.args);
    let file = shell::target().join("findings.json");
    let seeds: Vec<Option<u64>> = match (args.schedules, args.seed) {
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
        let mut command = program.command(&args.args);
        command.env("RUMBA_CHECK", &args.only).env("RUMBA_CHECK_JSON", &file);
        if let Some(seed) = seed {
            command.env("RUMBA_CHECK_SEED", seed.to_string());
        }
        if let Some(orders) = args.orders {
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
        println!("{name}: {} in {} (RUMBA_CHECK={}{orders})", Tally::default(), counted(launches, "launch"), args.only);
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
            let name = args.name.as_ref().map_or_else(String::new, |name| format!(" {name}"));
            println!("  again: cargo xtask check{name} --seed {seed}{}", rest(&args));
        }
    }
    bail!(
        "{name}: {} (RUMBA_CHECK={}{orders}); the reports stand above, those of the last run as JSON in {}",
        totals.values().map(|total| total.severity).collect::<Tally>(),
        args.only,
        file.display()
    )
}

fn read(file: &Path) -> Result<Vec<Line>> {
    let text = std::fs::read_to_string(file)?;
    let found = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    found.with_context(|| format!("{} has another form", file.display()))
}

/// The arguments of a command that repeats the run.
fn rest(args: &Args) -> String {
    let mut rest = String::new();
    if let Some(orders) = args.orders {
        rest += &format!(" --orders {orders}");
    }
    if args.only != "all" {
        rest += &format!(" --only {}", args.only);
    }
    if !args.args.is_empty() {
        rest += &format!(" -- {}", args.args.join(" "));
    }
    rest
}
