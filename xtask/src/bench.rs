//! `cargo xtask bench`: the benchmark table, made by the program `bench` of the tests' package from the
//! same cases that the tests run.

use crate::gallery::Device;
use crate::{setup, shell};
use anyhow::Result;
use std::process::Command;

/// Measure every case and print the table: time, rate, share of the limit, ratio to native Rust
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask bench                      every case
  cargo xtask bench matmul increment     these only
  cargo xtask bench --device gpu")]
pub(crate) struct Args {
    /// The cases whose names contain one of these words [default: all]
    names: Vec<String>,
    /// Where the kernels run [default: $RUMBA_DEVICE, otherwise auto]
    #[arg(long, value_enum)]
    device: Option<Device>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    setup::ensure()?;
    shell::run(shell::cargo().args(["build", "--release", "--package", "rumba-tests", "--bin", "bench"]))?;
    let mut bench = Command::new(shell::target().join("release/bench"));
    if let Some(device) = args.device {
        bench.env("RUMBA_DEVICE", device.name());
    }
    shell::run(bench.args(&args.names))
}
