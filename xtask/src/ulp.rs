//! `cargo xtask ulp`: the errors of the mathematical functions. The program `ulp` of rumba-tests measures them.

use crate::shell;
use anyhow::Result;
use std::ffi::OsString;

/// Measure the errors of cuda_std's mathematical functions, for libdevice and for libm
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Passed on; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    shell::run_on_soft_device(&["--package", "rumba-tests", "--features", "measure", "--bin", "ulp"], &args.options)
}
