//! `cargo xtask sanitize`: Miri, ThreadSanitizer and AddressSanitizer on the project's own `unsafe`.
//!
//! All three come with nightly toolchains only, so this is no part of `cargo xtask ci`. Which tests each tool runs, and why
//! the others are left out, stands in `sanitize/plan.rs` and nowhere else.

mod output;
mod plan;
mod toolchain;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::shell;
use output::Counts;
use plan::{Plan, Suite};
use toolchain::Nightly;

/// Run tests under Miri, ThreadSanitizer and AddressSanitizer (needs a nightly toolchain)
///
/// Miri interprets the tests and finds undefined behaviour; the sanitizers run them as compiled code, and find data races and
/// stray accesses. What each tool runs, and what is left out for which
/// reason, is shown by --list. Components that the toolchain lacks are installed with rustup.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask sanitize                              all three, one after the other
  cargo xtask sanitize miri                         one of them
  cargo xtask sanitize miri --filter uses           only tests whose names contain this
  cargo xtask sanitize thread --package rumba-driver
  cargo xtask sanitize --list                       what each tool runs, and what it does not run and why
  cargo xtask sanitize --toolchain nightly-2026-05-20")]
pub(crate) struct Args {
    /// The tools [default: all]
    tools: Vec<Tool>,
    /// Only tests whose names contain this, of those programs; give it several times for several patterns
    #[arg(long, value_name = "PATTERN")]
    filter: Vec<String>,
    /// Only the tests of this package
    #[arg(long, short, value_name = "NAME")]
    package: Option<String>,
    /// How many test programs run at once [default: one per core for Miri, 1 for the sanitizers]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// The toolchain, as rustup calls it
    #[arg(long, value_name = "NAME", default_value = "nightly")]
    toolchain: String,
    /// Show what would run and what is left out, and run nothing
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tool {
    /// The interpreter Miri: aliasing, validity, uninitialised memory, data races, leaks
    Miri,
    /// ThreadSanitizer: data races
    Thread,
    /// AddressSanitizer with LeakSanitizer: stray accesses, use after free, leaks
    Address,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Miri => "miri",
            Self::Thread => "thread",
            Self::Address => "address",
        }
    }

    fn plan(self) -> &'static Plan {
        match self {
            Self::Miri => &plan::MIRI,
            Self::Thread => &plan::THREAD,
            Self::Address => &plan::ADDRESS,
        }
    }

    fn components(self) -> &'static [&'static str] {
        match self {
            Self::Miri => &["miri", "rust-src"],
            Self::Thread | Self::Address => &["rust-src"],
        }
    }

    /// Miri's programs have one thread of the system; those of the sanitizers use all cores already.
    fn jobs(self) -> usize {
        match self {
            Self::Miri => thread::available_parallelism().map_or(1, usize::from),
            Self::Thread | Self::Address => 1,
        }
    }

    /// The folder of the tool's builds and logs.
    fn folder(self) -> PathBuf {
        shell::target().join("sanitize").join(self.name())
    }
}

pub(crate) fn run(args: Args) -> Result<()> {
    let tools = if args.tools.is_empty() { Tool::value_variants() } else { &args.tools };
    if args.list {
        tools.iter().for_each(|tool| list(*tool));
        return Ok(());
    }
    let nightly = Nightly::find(&args.toolchain)?;
    let mut rows = Vec::new();
    for &tool in tools {
        let plan = tool.plan();
        let suites = plan.suites.iter().enumerate();
        let chosen: Vec<_> = suites
            .filter(|(_, suite)| args.package.as_deref().is_none_or(|package| package == suite.package))
            .collect();
        if chosen.is_empty() {
            continue;
        }
        nightly.require(tool.components())?;
        let jobs = args.jobs.unwrap_or_else(|| tool.jobs());
        rows.extend(run_all(tool, &nightly, &chosen, &args.filter, jobs)?);
    }
    if rows.is_empty() {
        bail!(
            "no tool runs tests of {}; `cargo xtask sanitize --list` shows what there is",
            args.package.as_deref().unwrap_or("anything")
        );
    }
    println!("{}", table(&rows));
    // A suite whose tests have other names by now must not pass.
    let is_empty = |row: &Row| args.filter.is_empty() && row.counts.passed == 0;
    let wrong: Vec<_> = rows.iter().filter(|row| !row.is_clean() || is_empty(row)).collect();
    for row in &wrong {
        eprintln!("\n{} of {}: {}", row.tool.name(), row.suite, row.log.display());
        row.counts.excerpt.iter().for_each(|line| eprintln!("    {line}"));
    }
    if !wrong.is_empty() {
        bail!("{} of {} test programs failed, have findings, or ran no test", wrong.len(), rows.len());
    }
    if rows.iter().all(|row| row.counts.passed == 0) {
        bail!("no test has such a name");
    }
    Ok(())
}

/// The outcome of a suite.
struct Row {
    tool: Tool,
    suite: String,
    counts: Counts,
    /// Whether the command succeeded.
    success: bool,
    time: Duration,
    log: PathBuf,
}

impl Row {
    fn is_clean(&self) -> bool {
        self.success && self.counts.findings == 0 && self.counts.failed == 0
    }
}

/// Runs suites, several at once.
fn run_all(
    tool: Tool,
    nightly: &Nightly,
    suites: &[(usize, &Suite)],
    filter: &[String],
    jobs: usize,
) -> Result<Vec<Row>> {
    let folder = tool.folder();
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let terminal = std::io::stderr().is_terminal();
    let bars = MultiProgress::with_draw_target(match terminal {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    });
    let style =
        ProgressStyle::with_template("{spinner} {prefix} {elapsed} {wide_msg}").expect("the template is constant");
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        while let Some((number, suite)) = suites.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = suite.name();
            let bar = bars.add(ProgressBar::new_spinner().with_style(style.clone()));
            bar.set_prefix(format!("{} {name}", tool.name()));
            bar.enable_steady_tick(Duration::from_millis(100));
            let row = run_one(tool, nightly, &folder.join(format!("{number}")), suite, filter, &bar)?;
            bar.finish_and_clear();
            let counts = &row.counts;
            let line = format!(
                "{} {name}: {} passed, {} failed, {} findings, {:.0} s",
                tool.name(),
                counts.passed,
                counts.failed,
                counts.findings,
                row.time.as_secs_f64()
            );
            bars.suspend(|| eprintln!("{line}"));
            rows.lock().expect("no thread panics with it").push((*number, row));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("workers return their errors"))
    })?;
    let mut rows = rows.into_inner().expect("no thread panics with it");
    rows.sort_by_key(|(number, _)| *number);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Runs a suite; what it prints goes to a file beside `place`.
fn run_one(
    tool: Tool,
    nightly: &Nightly,
    place: &Path,
    suite: &Suite,
    filter: &[String],
    bar: &ProgressBar,
) -> Result<Row> {
    let (log, reports) = (place.with_extension("log"), place.with_extension("reports"));
    // Programs that tests start report there, too.
    let _ = std::fs::remove_dir_all(&reports);
    std::fs::create_dir_all(&reports).with_context(|| format!("could not make {}", reports.display()))?;
    let mut command = command(tool, nightly, suite, filter, &reports);
    command.stdin(Stdio::null());
    let start = Instant::now();
    let (success, mut counts) = output::follow(&mut command, &log, |line| bar.set_message(line.to_owned()))?;
    counts.add_reports(&reports, &log)?;
    Ok(Row { tool, suite: suite.name(), counts, success, time: start.elapsed(), log })
}

/// The command that builds and runs a suite.
fn command(tool: Tool, nightly: &Nightly, suite: &Suite, filter: &[String], reports: &Path) -> Command {
    let plan = tool.plan();
    let mut command = nightly.cargo();
    command.current_dir(shell::workspace());
    if tool == Tool::Miri {
        command.arg("miri");
    }
    command.arg("test").args(suite.selection());
    command.arg("--target-dir").arg(tool.folder());
    command.envs(plan.environment.iter().copied().filter(|(name, _)| std::env::var_os(name).is_none()));
    if tool != Tool::Miri {
        // Naming a target keeps build scripts and macros free of the flags.
        command.args(["--target", &nightly.host]);
        command.env("CARGO_ENCODED_RUSTFLAGS", format!("-Zsanitizer={}", tool.name()));
    }
    if tool == Tool::Thread {
        // A standard library that was built without it hides its synchronisation.
        command.arg("-Zbuild-std");
    }
    for (variable, options) in plan.options {
        let report = reports.join("report");
        command.env(variable, format!("{options}:log_path={}", report.display()));
    }
    command.arg("--");
    if filter.is_empty() {
        command.args(suite.only);
    } else {
        command.args(filter);
    }
    for (test, _) in suite.without {
        command.args(["--skip", test]);
    }
    command
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["tool", "tests", "passed", "failed", "ignored", "left out", "findings", "time"]);
    for row in rows {
        let counts = &row.counts;
        let numbers = [counts.passed, counts.failed, counts.ignored, counts.filtered, counts.findings];
        let cells = [row.tool.name().to_owned(), row.suite.clone()].into_iter();
        let cells = cells.chain(numbers.map(|number| number.to_string()));
        table.add_row(cells.chain([format!("{:.0} s", row.time.as_secs_f64())]));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The tests that a tool runs, and the tests left out, with reasons.
fn list(tool: Tool) {
    let plan = tool.plan();
    println!("{}:", tool.name());
    for suite in plan.suites {
        println!("  {}", suite.name());
        if !suite.only.is_empty() {
            println!("    only {}", suite.only.join(", "));
        }
        for (test, reason) in suite.without {
            println!("    without {test}: {reason}");
        }
    }
    println!("  left out:");
    for (what, reason) in plan.left_out {
        println!("    {what}: {reason}");
    }
}
