//! `cargo xtask isa`: how much of PTX the software device executes. The figures come from an example of the package `machine`, so
//! that building xtask does not build the machine.

use crate::shell;
use anyhow::{Result, bail};

/// Show how much of PTX the software device executes, by families of instructions
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask isa                 forms per family: listed, covered, out of scope, missing
  cargo xtask isa --missing       and every form that is missing, with the reason
  cargo xtask isa --json
  cargo xtask isa --errors        worst errors of the approximate functions, with their bounds

A form counts as covered if the device loads a module with an instruction of it. A form in scope that is missing makes
the command fail.")]
pub(crate) struct Args {
    /// List the forms that are missing
    #[arg(long, conflicts_with = "json")]
    missing: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show how far the approximate functions are off
    #[arg(long, conflicts_with_all = ["json", "missing"])]
    errors: bool,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let mut command = shell::cargo();
    command.args(["run", "--quiet", "--release", "-p", "machine", "--example", "isa", "--"]);
    command.args(args.missing.then_some("--missing"));
    command.args(args.json.then_some("--json"));
    command.args(args.errors.then_some("--errors"));
    let status = command.status()?;
    if !status.success() {
        bail!("{}", if args.errors { "a bound is not kept" } else { "not every form in scope is executed" });
    }
    Ok(())
}
