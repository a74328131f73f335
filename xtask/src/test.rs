//! `cargo xtask test`: every test of the workspace, with cargo-nextest where it is installed.

use crate::{conformance, setup, shell, soft};
use anyhow::{Context, Result, bail};
use std::process::Stdio;

/// Run every test; sets up what is missing first
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask test                 everything, on the software device
  cargo xtask test --gpu           and every case on the GPU; fails if there is none
  cargo xtask test -- saxpy        only tests whose name contains saxpy
  cargo xtask test -p rumba-vm -- popc
                                   only those of one package, and only that is built")]
pub(crate) struct Args {
    /// Only the tests of this package, without its doctests; may be given several times
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
    /// Run the cases on an NVIDIA GPU too, and fail without a GPU
    #[arg(long)]
    gpu: bool,
    /// Arguments for the test runner, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

/// Targets with tests, in cargo's words. The programs of the gallery and the benchmarks have none: their test harnesses
/// would be compiled and linked for nothing.
const TARGETS: [&str; 5] = ["--lib", "--bin", "xtask", "--test", "*"];

pub(crate) fn run(args: Args) -> Result<()> {
    if args.package.is_empty() || needs_device(&args.package)? {
        setup::ensure_beside(soft::ensure)?;
    } else {
        setup::ensure()?;
    }
    if args.gpu {
        require_gpu()?;
    }
    let mut tests = shell::cargo();
    if shell::has_nextest() {
        tests.args(["nextest", "run"]);
    } else {
        tests.arg("test");
    }
    tests.arg("--no-fail-fast");
    match &args.package[..] {
        [] => tests.arg("--workspace").args(TARGETS),
        packages => tests.args(packages.iter().flat_map(|package| ["--package", package])),
    };
    if args.gpu {
        tests.env("RUMBA_TEST_GPU", "1");
    }
    let filtered = !args.args.is_empty() || !args.package.is_empty();
    let mut failed = shell::run(tests.args(&args.args)).is_err();
    if !filtered {
        failed |= shell::run(shell::cargo().args(["test", "--workspace", "--doc", "--quiet"])).is_err();
    }
    if !filtered {
        failed |= conformance::slices().inspect_err(|error| eprintln!("error: {error:#}")).is_err();
    }
    if failed {
        bail!("some tests failed; their output stands above");
    }
    Ok(())
}

/// Whether tests of these packages use a device, and not only the machine's parts.
fn needs_device(packages: &[String]) -> Result<bool> {
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
