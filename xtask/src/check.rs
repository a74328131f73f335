//! `cargo xtask check NAME`: one program of the gallery under every check of the software device.

use crate::gallery::{self, Device};
use crate::{setup, shell};
use anyhow::{Context, Result, bail};
use rumba_interface::check::{Severity, Tally, counted};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Run one program on the software device under all of its checks
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask check reduce
  cargo xtask check matmul -- --n 64          small sizes: races are looked for at every access
  cargo xtask check matmul --only mem         memory accesses alone, at full speed
  cargo xtask check scan --schedules 20       in 20 orders of blocks, warps and lanes
  cargo xtask check scan --seed 7             in one of them, as a report of --schedules names it
  cargo xtask check scan --orders 1000        in all orders in which threads synchronise, up to so many of each launch

A finding names the kernel, both threads and the Rust line of each, the address and what lies there. The same checks for
any program that uses libcuda.so.1: RUMBA_DEVICE=soft RUMBA_CHECK=all PROGRAM. In a test: rumba::check(|gpu| ..)")]
pub(crate) struct Args {
    /// The program: a file in host/gallery/src/bin
    name: String,
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
    /// Arguments for the program, after `--`
    #[arg(last = true)]
    args: Vec<String>,
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
    let name = gallery::find(&args.name)?;
    setup::ensure()?;
    gallery::build(std::slice::from_ref(&name), gallery::Profile::Dev)?;
    let file = shell::target().join("findings.json");
    let seeds: Vec<Option<u64>> = match (args.schedules, args.seed) {
        (None, seed) => vec![seed],
        (Some(schedules), first) => {
            let first = first.unwrap_or(0);
            (first..first.saturating_add(schedules.max(1))).map(Some).collect()
        }
    };
    let (mut totals, mut failure) = (BTreeMap::<String, Total>::new(), None);
    for seed in &seeds {
        std::fs::write(&file, "").with_context(|| format!("could not write {}", file.display()))?;
        let mut command = gallery::command(&name, gallery::Profile::Dev, Some(Device::Soft));
        command.env("RUMBA_CHECK", &args.only).env("RUMBA_CHECK_JSON", &file);
        if let Some(seed) = seed {
            command.env("RUMBA_CHECK_SEED", seed.to_string());
        }
        if let Some(orders) = args.orders {
            command.env("RUMBA_CHECK_ORDERS", orders.to_string());
        }
        if let Err(error) = shell::run(command.args(&args.args)) {
            failure.get_or_insert(error);
        }
        let mut names = BTreeMap::<String, (u64, Severity)>::new();
        for finding in read(&file)? {
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
        println!("{name}: {} (RUMBA_CHECK={}{orders})", Tally::default(), args.only);
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
            println!("  again: cargo xtask check {name} --seed {seed}{}", rest(&args));
        }
    }
    bail!(
        "{name}: {} (RUMBA_CHECK={}{orders}); the reports stand above, those of the last run as JSON in {}",
        totals.values().map(|total| total.severity).collect::<Tally>(),
        args.only,
        file.display()
    )
}

fn read(file: &Path) -> Result<Vec<Finding>> {
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
