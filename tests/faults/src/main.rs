//! `faults`: the whole table of faults, one scenario, one run, or mixed work for hours, on the device of `RUMBA_DEVICE`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use comfy_table::Table;
use faults::faults::{Runner, Tally};
use faults::scenarios::SCENARIOS;
use faults::soak;
use indicatif::{ProgressBar, ProgressStyle};
use rumba_driver::DeviceKind;
use rumba_driver::code::Code;
use rumba_driver::fault::Fault;

/// Let driver calls of the runtime's scenarios fail, or do everything at once for hours
#[derive(Parser)]
#[command(
    name = "faults",
    arg_required_else_help = true,
    after_help = "Examples:
  faults table                                    each call of each scenario with each of its errors
  faults table graphs --stride 10                 a tenth of the runs of scenarios with `graphs` in their names
  faults one launches::graphs --call 12 --error 2 one run; RUMBA_LOG=calls names the calls
  faults soak --minutes 60 --threads 16           mixed work, and what the process has early and late
  RUMBA_DEVICE=gpu faults table                   the scenarios without faults, on a GPU"
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run scenarios with a fault at each call, and print a table
    Table {
        /// Only scenarios whose names contain this
        filter: Option<String>,
        /// Only one of so many runs
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        stride: u32,
        /// Say what each scenario survived
        #[arg(long)]
        survived: bool,
    },
    /// Run a scenario once, with one fault
    One {
        /// Its name
        scenario: String,
        /// The first call that may fail, from 1
        #[arg(long, requires = "error", value_parser = clap::value_parser!(u64).range(1..))]
        call: Option<u64>,
        /// The error, as a number
        #[arg(long, requires = "call")]
        error: Option<i32>,
    },
    /// Run scenarios at random in many threads
    Soak {
        /// For how long
        #[arg(long, default_value_t = 60.0)]
        minutes: f64,
        /// In how many threads
        #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
        threads: u32,
    },
    /// Name the scenarios
    List,
}

fn main() -> ExitCode {
    // SAFETY: the process has a single thread here.
    unsafe { prepare() };
    match run(&Args::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Makes three software devices with 512 MiB of memory, unless the environment says otherwise. Freed memory rests for a while, up to a
/// quarter of the whole: of less memory, a soak sees sooner whether more is taken than given back.
///
/// # Safety
/// There is no other thread.
unsafe fn prepare() {
    for (name, value) in [("RUMBA_SOFT_DEVICES", "3"), ("RUMBA_MEMORY", "512")] {
        if std::env::var_os(name).is_none() {
            // SAFETY: the caller's promise.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

fn is_gpu() -> bool {
    rumba_driver::device_kind() == Ok(DeviceKind::Nvidia)
}

fn run(command: &Command) -> anyhow::Result<bool> {
    match command {
        Command::List => {
            SCENARIOS.iter().for_each(|scenario| println!("{}", scenario.name));
            Ok(true)
        }
        Command::One { scenario, call, error } => one(scenario, *call, *error),
        Command::Table { filter, stride, survived } => table(filter.as_deref(), *stride as usize, *survived),
        Command::Soak { minutes, threads } => soaked(*minutes, *threads as usize),
    }
}

fn one(name: &str, call: Option<u64>, error: Option<i32>) -> anyhow::Result<bool> {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name);
    let scenario = scenario.ok_or_else(|| anyhow::anyhow!("there is no scenario `{name}`: `faults list` names all"))?;
    let fault = match (call, error) {
        (Some(call), Some(error)) => {
            let error = Code::of(error).ok_or_else(|| anyhow::anyhow!("{error} is no error of the driver API"))?;
            Some(Fault { call, error })
        }
        _ => None,
    };
    let mut tally = Tally::default();
    let mut runner = Runner::new()?;
    runner.warm_up(scenario, &mut tally);
    let seen = runner.one(scenario, fault, &mut tally);
    for (number, call) in (1..).zip(&seen.calls) {
        println!("{number:4} {call}{}", if seen.failed == Some(number) { "  fails" } else { "" });
    }
    tally.failures.iter().for_each(|failure| println!("{failure}"));
    Ok(tally.failures.is_empty())
}

fn table(filter: Option<&str>, stride: usize, tells: bool) -> anyhow::Result<bool> {
    let is_gpu = is_gpu();
    let wanted = |name: &str| filter.is_none_or(|filter| name.contains(filter));
    let scenarios: Vec<_> = SCENARIOS.iter().filter(|one| wanted(one.name) && (one.on_gpu || !is_gpu)).collect();
    anyhow::ensure!(
        !scenarios.is_empty(),
        "no scenario has `{}` in its name: `faults list` names all",
        filter.unwrap_or_default()
    );
    let mut runner = Runner::new()?;
    let progress = ProgressBar::new(scenarios.len() as u64);
    progress.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["scenario", "calls", "runs", "errors", "survived", "failures", "seconds"]);
    let (mut failures, mut sums, mut survived) = (Vec::new(), [0; 5], Vec::new());
    let begin = Instant::now();
    for (index, scenario) in scenarios.iter().enumerate() {
        let start = Instant::now();
        // A GPU runs without faults: its context would be lost for good.
        let stride = if is_gpu { usize::MAX } else { stride };
        let offset = if is_gpu { usize::MAX } else { index % stride };
        let tally = runner.all(scenario, stride, offset, |tally| {
            progress.set_message(format!("{}: {} runs, {} failures", scenario.name, tally.runs, tally.failures.len()));
        });
        progress.inc(1);
        let alive: usize = tally.survived.values().sum();
        let row = [tally.calls, tally.runs, tally.errors, alive, tally.failures.len()];
        sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
        let seconds = format!("{:.1}", start.elapsed().as_secs_f64());
        table.add_row(
            std::iter::once(scenario.name.to_owned()).chain(row.map(|number| number.to_string())).chain([seconds]),
        );
        survived.push((scenario.name, tally.survived));
        for failure in &tally.failures {
            progress.suspend(|| eprintln!("{failure}"));
        }
        failures.extend(tally.failures);
    }
    progress.finish_and_clear();
    let seconds = format!("{:.1}", begin.elapsed().as_secs_f64());
    let all = format!("{} scenarios", scenarios.len());
    table.add_row(std::iter::once(all).chain(sums.map(|number| number.to_string())).chain([seconds]));
    println!("{table}");
    if tells {
        for (name, calls) in survived.into_iter().filter(|(_, calls)| !calls.is_empty()) {
            println!("{name} survives {calls:?}");
        }
    }
    Ok(failures.is_empty())
}

fn soaked(minutes: f64, threads: usize) -> anyhow::Result<bool> {
    let time = Duration::try_from_secs_f64(60.0 * minutes)?;
    let first = (time / 4).min(Duration::from_secs(60));
    let soaked = soak::soak(threads, time, first, |passed, runs, state| {
        println!("{:6.0} s, {runs} runs: {state}", passed.as_secs_f64());
    })?;
    let mut table = Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    table.set_header(["scenario", "runs"]);
    for (name, runs) in &soaked.runs {
        table.add_row([(*name).to_owned(), runs.to_string()]);
    }
    println!("{table}\nearly: {}\nlate:  {}", soaked.early, soaked.late);
    soaked.failures.iter().for_each(|failure| println!("{failure}"));
    let grown = soaked.grown();
    match &grown {
        Some(grown) => println!("grown: {grown}"),
        None => println!("nothing has grown"),
    }
    Ok(soaked.failures.is_empty() && grown.is_none())
}
