//! `cargo xtask faults`: scenarios of the runtime whose driver calls fail, and mixed work for hours. The package `faults` runs them.

use crate::shell;
use anyhow::Result;
use std::ffi::OsString;

/// Let each driver call of the runtime's scenarios fail with each of its errors, or soak: mixed work in many threads
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Passed on; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    shell::run_on_soft_device(&["--package", "faults"], &args.options)
}
