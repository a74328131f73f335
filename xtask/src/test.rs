//! `cargo xtask test`: every test of the workspace or of the applications, with cargo-nextest where it is installed.

use crate::{conformance, libcuda, setup, shell, soft};
use anyhow::{Context, Result, bail};
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

/// The variable of the level of LLVM's code generator on the software device.
const LEVEL: &str = "RUMBA_CODEGEN_LEVEL";

/// A workspace of the repository.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Workspace {
    /// Rumba itself.
    Rumba,
    /// The folder apps.
    Apps,
}

impl Workspace {
    /// The workspace that has a package: packages of apps have the names of their folders.
    fn of(package: &str) -> Self {
        match shell::apps().join(package).join("Cargo.toml").is_file() {
            true => Self::Apps,
            false => Self::Rumba,
        }
    }

    fn cargo(self) -> Command {
        match self {
            Self::Rumba => shell::cargo(),
            Self::Apps => shell::apps_cargo(),
        }
    }

    /// Targets with tests, in cargo's words. Other programs have none: their test harnesses would be compiled and linked for nothing.
    fn targets(self) -> &'static [&'static str] {
        match self {
            Self::Rumba => &["--lib", "--bin", "xtask", "--test", "*"],
            Self::Apps => &["--lib", "--test", "*"],
        }
    }
}

pub(crate) fn run(args: Args) -> Result<()> {
    let (of_apps, of_rumba): (Vec<&str>, Vec<&str>) = args
        .package
        .iter()
        .map(String::as_str)
        .partition(|package| args.apps || Workspace::of(package) == Workspace::Apps);
    let is_whole = args.package.is_empty();
    if is_whole || !of_apps.is_empty() || needs_device(&of_rumba)? {
        setup::ensure_beside(soft::ensure)?;
        // Tests with libraries that look for the driver by themselves.
        libcuda::folder()?;
    } else {
        setup::ensure()?;
    }
    if args.gpu {
        require_gpu()?;
    }
    let is_all = is_whole && args.args.is_empty();
    let mut failed = false;
    for (workspace, packages) in [(Workspace::Rumba, of_rumba), (Workspace::Apps, of_apps)] {
        let is_meant = if is_whole { args.apps == (workspace == Workspace::Apps) } else { !packages.is_empty() };
        if is_meant {
            let mut tests = tests(workspace, &packages, &args);
            if is_all && workspace == Workspace::Rumba && shell::has_nextest() {
                tests.args(["-E", &format!("not binary(={ROWS})")]);
                failed |= shell::run(&mut tests).is_err();
                failed |= shell::run(&mut rows(&args)).is_err();
            } else {
                failed |= shell::run(&mut tests).is_err();
            }
        }
    }
    if is_all {
        let workspace = if args.apps { Workspace::Apps } else { Workspace::Rumba };
        failed |= shell::run(&mut doctests(workspace, &args)).is_err();
        if args.apps {
            // Projects that compile PyO3, or the software device once more.
            let mut projects = Workspace::Rumba.cargo();
            projects.args(["test", "--package", "cargo-rumba", "--test", "projects", "--", "--ignored"]);
            failed |= shell::run(&mut projects).is_err();
        } else {
            failed |= conformance::slices().inspect_err(|error| eprintln!("error: {error:#}")).is_err();
        }
    }
    if failed {
        bail!("some tests failed; their output stands above");
    }
    Ok(())
}

/// How many tests run at once: one more than there are cores, as some tests wait for a time to pass or for each other.
fn at_once() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) + 1
}

/// The command that runs the tests of packages, or of a whole workspace, without doctests.
fn tests(workspace: Workspace, packages: &[&str], args: &Args) -> Command {
    let mut tests = workspace.cargo();
    if shell::has_nextest() {
        tests.args(["nextest", "run"]);
        if std::env::var_os(THREADS).is_none() {
            tests.env(THREADS, at_once().to_string());
        }
    } else {
        tests.arg("test");
    }
    tests.arg("--no-fail-fast");
    match packages {
        [] => tests.arg("--workspace").args(workspace.targets()),
        packages => tests.args(packages.iter().flat_map(|package| ["--package", package])),
    };
    tests.args(&args.args);
    with_variables(tests, workspace, args)
}

/// The tests that share a process, of the whole workspace: with all packages, cargo has built them already.
fn rows(args: &Args) -> Command {
    let mut tests = Workspace::Rumba.cargo();
    tests.args(["test", "--no-fail-fast", "--workspace", "--test", ROWS, "--", "--quiet", "--test-threads"]);
    tests.arg(at_once().to_string());
    with_variables(tests, Workspace::Rumba, args)
}

/// The doctests of a workspace.
fn doctests(workspace: Workspace, args: &Args) -> Command {
    let mut tests = workspace.cargo();
    tests.args(["test", "--workspace", "--doc", "--quiet"]);
    if workspace == Workspace::Rumba {
        // This package has none. For them cargo would compile it with line tables, unlike for the build scripts of cust, and then
        // compile cust, the runtime and everything above a second time.
        tests.args(["--exclude", "find_cuda_helper"]);
    }
    with_variables(tests, workspace, args)
}

/// Sets the variables that tests read.
fn with_variables(mut tests: Command, workspace: Workspace, args: &Args) -> Command {
    if args.gpu {
        tests.env("RUMBA_TEST_GPU", "1");
    }
    // Rumba's tests compile thousands of small kernels and run each once; the networks of apps run for longer than they compile.
    if workspace == Workspace::Rumba && !args.optimized && std::env::var_os(LEVEL).is_none() {
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
