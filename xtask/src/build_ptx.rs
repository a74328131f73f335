//! `cargo xtask build-ptx`: kernels to PTX, from the command line.

use std::path::PathBuf;

use anyhow::Context;
use cuda_builder::{CudaBuilder, NvvmArch};

/// Builds a crate of kernels to PTX and prints the file's path.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  cargo xtask build-ptx                            the gallery, to target/ptx/kernels_gpu.ptx
  cargo xtask build-ptx --arch sm_90               for compute capability 9.0 and later
  cargo xtask build-ptx --crate ../mine -o k.ptx   another crate, to another file")]
pub(crate) struct Args {
    /// Virtual architecture, such as sm_80 [default: the oldest that the kernels allow]
    #[arg(long)]
    arch: Option<NvvmArch>,

    /// Directory of the kernel crate
    #[arg(long = "crate", value_name = "PATH", default_value = "kernels-gpu")]
    path: PathBuf,

    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let path = args
        .path
        .canonicalize()
        .with_context(|| format!("there is no directory {}", args.path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
    let output = args
        .output
        .unwrap_or_else(|| PathBuf::from("target/ptx").join(format!("{name}.ptx")));
    let mut builder = CudaBuilder::new(&path).copy_to(output);
    if let Some(arch) = args.arch {
        builder = builder.arch(arch);
    }
    let ptx = builder.build()?;
    println!("{}", ptx.path.display());
    println!("sha256 {}  {}", &ptx.hash()[..16], ptx.arch);
    for kernel in &ptx.kernels {
        println!("  {kernel}");
    }
    Ok(())
}
