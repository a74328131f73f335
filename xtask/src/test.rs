//! `cargo xtask test`: every test of the workspace, with cargo-nextest where it is installed.

use crate::{conformance, setup, shell, soft};
use anyhow::{Result, bail};
use std::process::{Command, Stdio};

/// Run every test; sets up what is missing first
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask test                 everything, on the software device
  cargo xtask test --gpu           and every case on the GPU; fails if there is none
  cargo xtask test -- saxpy        only tests whose name contains saxpy")]
pub(crate) struct Args {
    /// Run the cases on an NVIDIA GPU too, and fail if there is none
    #[arg(long)]
    gpu: bool,
    /// Arguments for the test runner, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    setup::ensure()?;
    soft::ensure()?;
    if args.gpu {
        require_gpu()?;
    }
    let has_nextest = Command::new("cargo-nextest")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut tests = shell::cargo();
    if has_nextest {
        tests.args(["nextest", "run", "--workspace", "--no-fail-fast"]);
    } else {
        tests.args(["test", "--workspace", "--all-targets", "--no-fail-fast"]);
    }
    if args.gpu {
        tests.env("RUMBA_TEST_GPU", "1");
    }
    let filtered = !args.args.is_empty();
    let mut failed = shell::run(tests.args(&args.args)).is_err();
    if !filtered {
        failed |= shell::run(shell::cargo().args(["test", "--workspace", "--doc", "--quiet"])).is_err();
    }
    if !filtered {
        failed |= conformance::slices()
            .inspect_err(|error| eprintln!("error: {error:#}"))
            .is_err();
    }
    if failed {
        bail!("some tests failed; their output stands above");
    }
    Ok(())
}

/// NVIDIA's driver must report a GPU before the tests may claim to have run on one.
fn require_gpu() -> Result<()> {
    use crate::gallery::{self, Device};
    let probe = "thread_indexing".to_owned();
    gallery::build(std::slice::from_ref(&probe))?;
    shell::run(gallery::command(&probe, Some(Device::Gpu)).stdout(Stdio::null()))
}
