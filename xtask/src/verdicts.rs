//! `cargo xtask verdicts`: asks NVIDIA's assembler again about the corpus of modules that tests/machine/tests/ptxas keeps
//! its verdicts on.

use anyhow::{Context, Result};
use cuda_builder::wheels;

use crate::shell;

/// Ask NVIDIA's assembler which modules of the verifier's corpus it accepts (needs ptxas)
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args) -> Result<()> {
    let ptxas = wheels::find().ptxas.context("there is no ptxas here; `cargo xtask setup` installs it")?;
    let mut command = shell::cargo();
    command.args(["test", "--quiet", "--release", "-p", "machine", "--test", "it", "--", "ptxas::"]);
    shell::run(command.env("RUMBA_PTXAS", ptxas))
}
