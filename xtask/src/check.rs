//! `cargo xtask check`: a program of the gallery under every check of the software device, or any program, as `cargo rumba check`.

use crate::gallery::{self, Device};
use anyhow::Result;
use cargo_rumba::check::{Options, Program, checked, program_of_any_kind};
use cargo_rumba::setup;

/// Run a program on the software device under all of its checks: one of the gallery, or any CUDA program
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask check reduce
  cargo xtask check matmul -- --n 64          small sizes: races are looked for at every access
  cargo xtask check matmul --only mem         memory accesses alone, at full speed
  cargo xtask check scan --schedules 20       in 20 orders of blocks, warps and lanes
  cargo xtask check scan --seed 7             in one of them, as a report of --schedules names it
  cargo xtask check scan --orders 1000        in all orders in which threads synchronise, up to so many of each launch
  cargo xtask check -- python3 script.py      a script with Numba, unchanged
  cargo xtask check --only race -- ./a.out    a program in C or C++ on the CUDA driver API

A finding names the kernel, both threads and the line of each, the address and what lies there. A program without a name
of the gallery loads libcuda.so.1 with PTX in it or beside it, and runs unchanged; Numba's lines need
@cuda.jit(lineinfo=True), nvcc's -lineinfo. The command fails if there are findings. In a test: rumba::check(|gpu| ..)")]
pub(crate) struct Args {
    /// The program: a file in host/gallery/src/bin; without one, any program behind `--`
    #[arg(required_unless_present = "args")]
    name: Option<String>,
    #[command(flatten)]
    options: Options,
    /// Arguments for the program, after `--`; without a NAME, a program and its arguments
    #[arg(last = true, value_name = "PROGRAM|ARGS")]
    args: Vec<String>,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let Some(name) = &args.name else {
        return program_of_any_kind(&args.options, &args.args);
    };
    let name = gallery::find(name)?;
    setup::ensure()?;
    gallery::build(std::slice::from_ref(&name), gallery::Profile::Dev)?;
    let command = || {
        let mut command = gallery::command(&name, gallery::Profile::Dev, Some(Device::Soft));
        command.args(&args.args);
        command
    };
    let again = format!(" {name}");
    checked(&args.options, &Program { name: &name, again: &again, args: &args.args, command: &command })
}
