//! `cargo xtask profile NAME`: `cargo rumba profile` of a program of the gallery.

use crate::{gallery, setup};
use anyhow::Result;
use cargo_rumba::profile::{Options, Program, Run, help, profiled};
use std::process::Stdio;

/// Time kernels and copies, and count memory traffic, bank conflicts and divergence by source line
#[derive(clap::Args)]
#[command(after_help = help("Examples:
  cargo xtask profile transpose
  cargo xtask profile transpose --device gpu
  cargo xtask profile matmul --kernel matmul_tiled -- --n 256"))]
pub(crate) struct Args {
    /// The program: a file in host/gallery/src/bin
    name: String,
    #[command(flatten)]
    options: Options,
    /// Arguments for the program, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let name = gallery::find(&args.name)?;
    args.options.device.ensure()?;
    setup::ensure()?;
    gallery::build(std::slice::from_ref(&name), gallery::Profile::Release)?;
    let command = |run| {
        let mut command = gallery::command(&name, gallery::Profile::Release, None);
        command.args(&args.args);
        if run == Run::Counts {
            // Its own table would show times of a device that counts.
            command.stdout(Stdio::null());
        }
        command
    };
    profiled(&args.options, &Program { name: &name, folder: &name, command: &command })
}
