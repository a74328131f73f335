//! `cargo xtask devices`: what each device can do per second, by the example `devices` of the gallery.

use crate::gallery::Device;
use crate::{setup, shell, soft};
use anyhow::Result;
use std::process::Command;

/// Show each device with what it can do per second: operations by type, memory, bus
#[derive(clap::Args)]
#[command(
    after_help = "Theoretical figures are computed from the device's attributes, and printed with their formulas. The software
device has none: what it does is measured. --measure does so on a GPU too."
)]
pub(crate) struct Args {
    /// Which driver answers
    #[arg(long, value_enum, default_value = "auto")]
    device: Device,
    /// Measure copies, launches and each kind of arithmetic
    #[arg(long)]
    measure: bool,
}

pub(crate) fn run(args: Args) -> Result<()> {
    setup::ensure()?;
    soft::ensure()?;
    shell::run(shell::cargo().args(["build", "--release", "--package", "gallery", "--example", "devices"]))?;
    let mut devices = Command::new(shell::target().join("release/examples/devices"));
    devices.env("RUMBA_DEVICE", args.device.name());
    if args.measure {
        devices.arg("--measure");
    }
    shell::run(&mut devices)
}
