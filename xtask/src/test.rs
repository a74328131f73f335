//! `cargo xtask test`: every test of the workspace or of the applications, with cargo-nextest where it is installed.

use crate::{conformance, libcuda, setup, shell, soft};
use anyhow::{Context, Result, bail};
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Run every test of Rumba, or with --apps of the applications; sets up what is missing first
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask test                 everything, on the software device
  cargo xtask test --gpu           and every case on the GPU; fails if there is none
  cargo xtask test --optimized     native code of kernels is as optimized as a user's, as in CI
  cargo xtask test -- saxpy        only tests whose name contains saxpy
  cargo xtask test -p rumba-vm -- popc
                                   only those of one package, and only that is built
  cargo xtask test --apps          everything of the folder apps, networks and their programs, and a module for Python
  cargo xtask test -p training     a package of the folder apps, as any other")]
pub(crate) struct Args {
    /// Only the tests of this package, without its doctests; may be given several times
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
    /// The tests and doctests of the applications, the folder apps, instead of Rumba's
    #[arg(long)]
    apps: bool,
    /// Run the cases on an NVIDIA GPU too, and fail without a GPU
    #[arg(long)]
    gpu: bool,
    /// Compile kernels for the software device as for users: LLVM's code generator optimizes, which takes twice as long
    #[arg(long)]
    optimized: bool,
    /// Arguments for the test runner, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

/// The program of rumba-tests whose tests are rows of tables: a thousand short tests, for which a process each would take longer than
/// the tests themselves. The rows that end a process or its context start one of their own.
const ROWS: &str = "trials";

/// The variable that tells cargo-nextest how many tests to run at once.
const THREADS: &str = "NEXTEST_TEST_THREADS";

/// The status of cargo-nextest if no test was to run, `NextestExitCode` in its sources: names that are asked for may be in one part only.
const NO_TESTS_RUN: i32 = 4;

/// The variable of the level of LLVM's code generator on the software device.
const LEVEL: &str = "RUMBA_CODEGEN_LEVEL";

/// What is built and tested together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The workspace of Rumba, without the next.
    Rumba,
    /// The software device and its machine, in release: programs load the device that cargo builds in release, and these tests are
    /// linked with its parts. Only the machine's unit tests, which are compiled into it, belong to the part above.
    Device,
    /// The folder apps.
    Apps,
}

/// The packages of [`Part::Device`]. They have no doctests: `doctest = false` in their manifests.
const DEVICE: [&str; 4] = ["machine", "rumba-libcuda", "rumba-soft", "rumba-soft-library"];

impl Part {
    /// The part that a package belongs to: packages of apps have the names of their folders.
    fn of(package: &str) -> Self {
        if shell::apps().join(package).join("Cargo.toml").is_file() {
            Self::Apps
        } else if DEVICE.contains(&package) {
            Self::Device
        } else {
            Self::Rumba
        }
    }

    fn cargo(self) -> Command {
        match self {
            Self::Rumba | Self::Device => shell::cargo(),
            Self::Apps => shell::apps_cargo(),
        }
    }

    /// Names all packages of the part, in cargo's words.
    fn packages(self) -> Vec<&'static str> {
        match self {
            Self::Rumba => {
                ["--workspace"].into_iter().chain(DEVICE.iter().flat_map(|name| ["--exclude", name])).collect()
            }
            Self::Device => DEVICE.iter().flat_map(|name| ["--package", name]).collect(),
            Self::Apps => vec!["--workspace"],
        }
    }

    /// Targets with tests, in cargo's words. Other programs have none: their test harnesses would be compiled and linked for nothing.
    fn targets(self) -> &'static [&'static str] {
        match self {
            Self::Rumba => &["--lib", "--bin", "xtask", "--test", "*"],
            Self::Device | Self::Apps => &["--lib", "--test", "*"],
        }
    }
}

pub(crate) fn run(args: Args) -> Result<()> {
    let part_of = |package: &str| if args.apps { Part::Apps } else { Part::of(package) };
    let named = |part| args.package.iter().map(String::as_str).filter(move |package| part_of(package) == part);
    let is_whole = args.package.is_empty();
    let of_workspace: Vec<&str> = named(Part::Rumba).chain(named(Part::Device)).collect();
    if is_whole || of_workspace.len() < args.package.len() || needs_device(&of_workspace)? {
        setup::ensure_beside(|_| soft::ensure())?;
        // Tests with libraries that look for the driver by themselves.
        libcuda::folder()?;
    } else {
        setup::ensure()?;
    }
    if args.gpu {
        require_gpu()?;
    }
    if is_whole && args.args.is_empty() && !args.apps && shell::has_nextest() {
        return everything(&args);
    }
    let is_all = is_whole && args.args.is_empty();
    let (mut failed, mut ran) = (false, false);
    for part in [Part::Rumba, Part::Device, Part::Apps] {
        let packages: Vec<&str> = named(part).collect();
        let is_meant = if is_whole { args.apps == (part == Part::Apps) } else { !packages.is_empty() };
        if is_meant {
            let status = tests(part, &packages, &args).status().context("could not start cargo")?;
            if status.code() != Some(NO_TESTS_RUN) {
                ran = true;
                failed |= !status.success();
            }
        }
    }
    if !ran {
        bail!("no test was run");
    }
    if is_all {
        let part = if args.apps { Part::Apps } else { Part::Rumba };
        failed |= shell::run(&mut doctests(part, &args)).is_err();
        if args.apps {
            // Projects that compile PyO3, or the software device once more.
            let mut projects = Part::Rumba.cargo();
            projects.args(["test", "--package", "cargo-rumba", "--test", "projects", "--", "--ignored"]);
            failed |= shell::run(&mut projects).is_err();
        } else {
            failed |= conformance::slices().inspect_err(|error| eprintln!("error: {error:#}")).is_err();
        }
    }
    verdict(failed)
}

fn verdict(failed: bool) -> Result<()> {
    if failed {
        bail!("some tests failed; their output stands above");
    }
    Ok(())
}

/// Runs all tests of Rumba by cargo-nextest, and beside them the tests that need no process each: many of the former wait, for a time to
/// pass or for another process, and few of the latter use more than one core.
fn everything(args: &Args) -> Result<()> {
    // All that the tests beside need, too: cargo would let one of both wait for the other.
    let mut build = Part::Rumba.cargo();
    build.args(["test", "--no-run", "--quiet"]).args(Part::Rumba.packages()).args(Part::Rumba.targets());
    shell::run(&mut with_variables(build, Part::Rumba, args)).context("the tests were not built")?;
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| beside(args));
        let mut of_rumba = tests(Part::Rumba, &[], args);
        let mut failed = shell::run(of_rumba.args(["-E", &format!("not binary(={ROWS})")])).is_err();
        failed |= shell::run(&mut tests(Part::Device, &[], args)).is_err();
        if !beside.is_finished() {
            eprintln!("waiting for the rows of tables and for the doctests, which run beside the other tests");
        }
        let (stdout, stderr, is_success) = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        io::stderr().write_all(&stderr)?;
        io::stdout().write_all(&stdout)?;
        failed |= !is_success;
        failed |= conformance::slices().inspect_err(|error| eprintln!("error: {error:#}")).is_err();
        verdict(failed)
    })
}

/// Runs the tests that share a process, and the doctests. Returns what they print, and whether all pass.
fn beside(args: &Args) -> Result<(Vec<u8>, Vec<u8>, bool)> {
    let (mut stdout, mut stderr, mut is_success) = (Vec::new(), Vec::new(), true);
    for command in [&mut rows(args), &mut doctests(Part::Rumba, args)] {
        let output = command.output().context("could not start cargo")?;
        stdout.extend(output.stdout);
        stderr.extend(output.stderr);
        is_success &= output.status.success();
    }
    Ok((stdout, stderr, is_success))
}

/// How many tests run at once: one more than there are cores, as some tests wait for a time to pass or for each other.
fn at_once() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) + 1
}

/// The command that runs the tests of some packages of a part, or of all, without doctests.
fn tests(part: Part, packages: &[&str], args: &Args) -> Command {
    let mut tests = part.cargo();
    if shell::has_nextest() {
        tests.args(["nextest", "run"]);
        if std::env::var_os(THREADS).is_none() {
            tests.env(THREADS, at_once().to_string());
        }
    } else {
        tests.arg("test");
    }
    tests.arg("--no-fail-fast");
    if part == Part::Device {
        tests.arg("--release");
    }
    match packages {
        [] => tests.args(part.packages()).args(part.targets()),
        packages => tests.args(packages.iter().flat_map(|package| ["--package", package])),
    };
    tests.args(&args.args);
    with_variables(tests, part, args)
}

/// The command that runs the tests that share a process.
fn rows(args: &Args) -> Command {
    let mut tests = Part::Rumba.cargo();
    tests.args(["test", "--no-fail-fast"]).args(Part::Rumba.packages());
    tests.args(["--test", ROWS, "--", "--quiet", "--test-threads"]).arg(at_once().to_string());
    with_variables(tests, Part::Rumba, args)
}

/// The doctests of a part.
fn doctests(part: Part, args: &Args) -> Command {
    let mut tests = part.cargo();
    tests.args(["test", "--doc", "--quiet"]).args(part.packages());
    if part == Part::Rumba {
        // These packages have none. Cargo would compile them all the same: the helper with line tables, unlike for the build scripts of
        // cust, and then cust, the runtime and everything above a second time; and the machine, which is not tested here.
        tests.args(["--exclude", "find_cuda_helper", "--exclude", "rumba-vm"]);
    }
    with_variables(tests, part, args)
}

/// Sets the variables that tests read.
fn with_variables(mut tests: Command, part: Part, args: &Args) -> Command {
    if args.gpu {
        tests.env("RUMBA_TEST_GPU", "1");
    }
    // Rumba's tests compile thousands of small kernels and run each once; the networks of apps run for longer than they compile.
    if part != Part::Apps && !args.optimized && std::env::var_os(LEVEL).is_none() {
        tests.env(LEVEL, "0");
    }
    tests
}

/// Whether tests of these packages of Rumba use a device, and not only the machine's parts.
fn needs_device(packages: &[&str]) -> Result<bool> {
    let mut tree = shell::cargo();
    tree.args(["tree", "--locked", "--prefix", "none", "--edges", "normal,build,dev"]);
    tree.args(packages.iter().flat_map(|package| ["--package", package]));
    let output = tree.output().context("could not start cargo")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.trim_start_matches("error: ").trim_end());
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    Ok(tree.lines().any(|line| line.starts_with("rumba-driver ")))
}

/// NVIDIA's driver must report a GPU before the tests may claim to have run on one.
fn require_gpu() -> Result<()> {
    use crate::gallery::{self, Device};
    let probe = "thread_indexing".to_owned();
    gallery::build(std::slice::from_ref(&probe), gallery::Profile::Dev)?;
    shell::run(gallery::command(&probe, gallery::Profile::Dev, Some(Device::Gpu)).stdout(Stdio::null()))
}
