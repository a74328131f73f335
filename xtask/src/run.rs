//! `cargo xtask run NAME`: one program of the gallery.

use crate::gallery::{self, Device};
use crate::{setup, shell};
use anyhow::Result;

/// Build and run one program of the gallery
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask run saxpy
  cargo xtask run diffusion
  cargo xtask run diffusion -- --weights stable-diffusion-v1-5 \"a lighthouse in a storm\"
  cargo xtask run training -- --ranks 2
  cargo xtask run increment --device gpu -- --n 1000000
  cargo xtask run mandelbrot -- --help")]
pub(crate) struct Args {
    /// The program: a file in host/gallery/src/bin, or `diffusion`, `sentences`, `training`, `upscale`, `with_cudarc`
    name: String,
    /// Where the kernels run [default: $RUMBA_DEVICE, otherwise auto]
    #[arg(long, value_enum)]
    device: Option<Device>,
    /// Arguments for the program, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let name = gallery::find(&args.name)?;
    setup::ensure()?;
    gallery::build(std::slice::from_ref(&name), gallery::Profile::Dev)?;
    shell::run(gallery::command(&name, gallery::Profile::Dev, args.device).args(&args.args))
}
