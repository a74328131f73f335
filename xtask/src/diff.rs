//! `cargo xtask diff`: the gallery's kernels on two devices, by the program `diff` of the tests' package.

use crate::bench;
use crate::gallery::Device;
use crate::{setup, shell, soft};
use anyhow::Result;

/// Compare what the software device and a GPU compute from the same PTX and inputs
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask diff                         every case, against a GPU
  cargo xtask diff matmul scan             these only
  cargo xtask diff --against soft --seed 3 without a GPU: against another order of the threads

Results are compared bit for bit, or within the tolerance that a case states; the first difference is named.")]
pub(crate) struct Args {
    /// The cases whose names contain one of these words [default: all]
    names: Vec<String>,
    /// The other device
    #[arg(long, value_enum, default_value = "gpu")]
    against: Device,
    /// The order of threads on it, if it is the software device
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    setup::ensure()?;
    soft::ensure()?;
    let mut diff = bench::measuring("diff")?;
    diff.env("RUMBA_DIFF_AGAINST", args.against.name());
    if args.against == Device::Soft {
        diff.env("RUMBA_DIFF_SEED", args.seed.unwrap_or(1).to_string());
    }
    shell::run(diff.args(&args.names))
}
