//! `cargo xtask compare`: the CPU against the device over a range of sizes, by the program `compare` of the tests' package.

use crate::bench;
use crate::gallery::Device;
use crate::{setup, shell, soft};
use anyhow::Result;
use std::path::PathBuf;

/// Compare a function on the CPU with its kernel over a range of sizes, and predict whether it pays
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask compare                      what there is to compare
  cargo xtask compare saxpy
  cargo xtask compare black_scholes --device gpu --folder pictures

For each name: the table, the sizes from which on the device is faster, a prediction from the CPU's times beside what was
measured, and the plot as SVG and PNG.")]
pub(crate) struct Args {
    /// What to compare [default: a list]
    names: Vec<String>,
    /// The device
    #[arg(long, value_enum, default_value = "auto")]
    device: Device,
    /// The folder of the pictures [default: target/compare]
    #[arg(long)]
    folder: Option<PathBuf>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    setup::ensure()?;
    soft::ensure()?;
    let mut compare = bench::measuring("compare")?;
    compare.env("RUMBA_DEVICE", args.device.name());
    compare.arg("--folder").arg(args.folder.unwrap_or_else(|| shell::target().join("compare")));
    shell::run(compare.args(&args.names))
}
