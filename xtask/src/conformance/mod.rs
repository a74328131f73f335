//! `cargo xtask conformance CLIENT`: an unmodified foreign program's own test-suite against our `libcuda.so.1`.
//!
//! One file per client; the runner, the lists of expected results and the report know none of them.

mod crates;
mod cudarc;
mod cust;
mod expected;
mod numba;
mod numba_cuda;
mod python;
mod report;
mod runner;
mod suite;
mod tinygrad;

use crate::libcuda::{self, link};
use crate::shell;
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use cuda_builder::wheels;
use expected::Expected;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use suite::{Driver, Suite};

/// Run a foreign program's own tests against the software device
///
/// Installs the unmodified client from its registry into a folder of Rumba's own, builds libcuda.so.1, runs the
/// client's tests with it, and compares each result with the list in tests/conformance. A new failure and a new pass
/// both fail the command.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask conformance numba
  cargo xtask conformance numba --filter test_atomics      these only, with what is known of each failure
  cargo xtask conformance numba --bless                    take the results over into the list
  cargo xtask conformance numba --slice                    a few tests of each kind
  cargo xtask conformance                                  the same of every installed client, as `cargo xtask test`")]
pub(crate) struct Args {
    /// The program
    client: Option<Client>,
    #[command(flatten)]
    selection: Selection,
}

#[derive(clap::Args)]
#[group(requires = "client")]
struct Selection {
    /// Only tests whose names contain this; give it several times for several patterns
    #[arg(long, value_name = "PATTERN")]
    filter: Vec<String>,
    /// Only a few tests of each kind
    #[arg(long)]
    slice: bool,
    /// Rewrite the list of expected results for the tests that ran
    #[arg(long)]
    bless: bool,
    /// How many tests run at once [default: one per core, or 1 where tests measure time]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// How many seconds one test may take
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    limit: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Client {
    /// Numba's CUDA tests: kernels in Python
    Numba,
    /// NVIDIA's Numba, by way of cuda-bindings
    NumbaCuda,
    /// The crate cust: its unit tests and doctests
    Cust,
    /// The crate cudarc: the unit tests and doctests of its driver module
    Cudarc,
    /// tinygrad: tensor programs of ours, as its package brings no tests
    Tinygrad,
}

impl Client {
    fn suite(self) -> Box<dyn Suite> {
        match self {
            Self::Numba => Box::new(numba::Numba),
            Self::NumbaCuda => Box::new(numba_cuda::CLIENT),
            Self::Cust => Box::new(cust::Cust::default()),
            Self::Cudarc => Box::new(cudarc::Cudarc::default()),
            Self::Tinygrad => Box::new(tinygrad::CLIENT),
        }
    }
}

pub(crate) fn run(args: Args) -> Result<()> {
    match args.client {
        Some(client) => check(client, &args.selection),
        None => slices(),
    }
}

/// Runs a few tests of each client that is installed; of the others it says how to install them.
pub(crate) fn slices() -> Result<()> {
    let mut failed = Vec::new();
    for &client in Client::value_variants() {
        let suite = client.suite();
        if !suite.is_installed() {
            eprintln!(
                "note: {} is not installed, its tests are left out; `cargo xtask conformance {} --slice` installs it",
                suite.about(),
                suite.name()
            );
            continue;
        }
        let selection = Selection { filter: Vec::new(), slice: true, bless: false, jobs: None, limit: 120 };
        if let Err(error) = check(client, &selection) {
            eprintln!("error: {error:#}");
            failed.push(suite.name());
        }
    }
    if !failed.is_empty() {
        bail!("conformance of {} failed", failed.join(", "));
    }
    Ok(())
}

fn check(client: Client, args: &Selection) -> Result<()> {
    let suite = client.suite();
    let suite = &*suite;
    suite.install().with_context(|| format!("could not install {}", suite.about()))?;
    let driver = Driver { folder: libcuda::folder()? };
    std::fs::create_dir_all(logs()).with_context(|| format!("could not make {}", logs().display()))?;
    let all = suite.list(&driver)?;
    if let Some(unknown) = missing(suite.slice(), &all) {
        bail!("the slice of {} names tests that there are not: {unknown}", suite.about());
    }
    let selected: Vec<String> = all.iter().filter(|test| args.selects(suite, test)).cloned().collect();
    if selected.is_empty() {
        bail!("none of the {} tests of {} is selected", all.len(), suite.about());
    }
    let jobs = args.jobs.unwrap_or_else(|| match suite.alone() {
        true => 1,
        false => thread::available_parallelism().map_or(1, usize::from),
    });
    println!("{}: {} of {} tests", suite.about(), selected.len(), all.len());
    let start = Instant::now();
    let records = runner::run_all(suite, &driver, &selected, jobs, Duration::from_secs(args.limit))?;
    println!("{}", report::table(suite, &records));
    println!("{:.0} s with {jobs} at once", start.elapsed().as_secs_f64());

    let details = report::details(&records);
    let log = logs().join(format!("{}.log", suite.name()));
    std::fs::write(&log, &details).with_context(|| format!("could not write {}", log.display()))?;
    if !details.is_empty() {
        if args.filter.is_empty() {
            println!("what is known of each failure: {}", log.display());
        } else {
            println!("{details}");
        }
    }

    let list = list(suite);
    let mut expected = Expected::read(&list)?;
    if args.bless {
        expected.bless(&records, &all);
        expected.write(&list)?;
        println!("wrote {}", list.display());
        return Ok(());
    }
    let surprises = expected.compare(&records, &all);
    for surprise in &surprises {
        println!("{}", report::line(surprise));
    }
    if !surprises.is_empty() {
        bail!(
            "{} results differ from {}; `cargo xtask conformance {} --bless` takes them over",
            surprises.len(),
            list.display(),
            suite.name()
        );
    }
    println!("as {} says", list.display());
    Ok(())
}

/// The names of a slice that no test has.
fn missing(slice: &[&str], all: &[String]) -> Option<String> {
    let missing: Vec<&str> = slice.iter().copied().filter(|name| !all.iter().any(|test| test == name)).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}

impl Selection {
    fn selects(&self, suite: &dyn Suite, test: &str) -> bool {
        (self.filter.is_empty() || self.filter.iter().any(|pattern| test.contains(pattern)))
            && (!self.slice || suite.slice().contains(&test))
    }
}

/// The list of a suite's expected results.
fn list(suite: &dyn Suite) -> PathBuf {
    shell::workspace().join("tests/conformance").join(format!("{}.txt", suite.name()))
}

/// Where the suites' output goes.
fn logs() -> PathBuf {
    shell::target().join("conformance")
}

/// Where a client is installed: beside NVIDIA's tools, in a folder of its own.
fn folder(client: &str) -> Result<PathBuf> {
    let tools = wheels::folder().context("there is no home directory to put it in")?;
    Ok(tools.join("conformance").join(client))
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn a_slice_names_tests_that_there_are() {
        let all = ["a.b".to_owned(), "a.c".to_owned()];
        assert_eq!(missing(&["a.c"], &all), None);
        assert_eq!(missing(&["a.b", "b", "a.d"], &all).as_deref(), Some("b, a.d"));
    }
}
