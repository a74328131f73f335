//! `cargo xtask check NAME`: one program of the gallery under every check of the software device.

use crate::gallery::{self, Device};
use crate::{setup, shell};
use anyhow::{Context, Result};

/// Run one program on the software device under all of its checks
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask check reduce
  cargo xtask check matmul -- --n 64

A finding names the kernel, block and thread, the address and the nearest allocation, and the Rust line.")]
pub(crate) struct Args {
    /// The program: a file in host/src/bin
    name: String,
    /// Arguments for the program, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let name = gallery::find(&args.name)?;
    setup::ensure()?;
    gallery::build(std::slice::from_ref(&name))?;
    let mut command = gallery::command(&name, Some(Device::Soft));
    shell::run(command.args(&args.args)).context("the check found something; its report stands above")?;
    println!("{name}: no findings (memory accesses, barriers)");
    Ok(())
}
