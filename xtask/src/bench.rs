//! `cargo xtask bench`: the benchmark table, made by the program `bench` of the tests' package from the
//! same cases that the tests run; or, against nvcc or CUB, by its programs `versus` and `cub`, against Numba by
//! `numba`, for the engines of the software device by `engines`, for the cost of checks by `checks`, for that of launches by `launches`, and for copies of views by `arrays`.

use crate::gallery::Device;
use crate::{setup, shell, soft};
use anyhow::Result;
use std::process::Command;

/// Measure every case and print the table: time, rate, share of the limit, ratio to native Rust
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask bench                      every case
  cargo xtask bench matmul increment     these only
  cargo xtask bench --device gpu
  cargo xtask bench --engines            kernels interpreted and compiled, and what compiling takes
  cargo xtask bench --checks             what the software device's checks cost
  cargo xtask bench --launches           what a launch costs the host, beside a bare cuLaunchKernel
  cargo xtask bench --arrays             how fast views of arrays are copied, beside a plain copy
  cargo xtask bench --against nvcc       on a GPU, against nvcc's kernels of the same algorithms;
                                         without one, registers and instructions of both
  cargo xtask bench --against cub        on a GPU with nvcc: reduce, scan, sort and histogram against CUB
  cargo xtask bench --against numba      ten million increments with host arrays, and what a launch costs")]
pub(crate) struct Args {
    /// The cases whose names contain one of these words [default: all]
    names: Vec<String>,
    /// Where the kernels run [default: $RUMBA_DEVICE, otherwise auto]
    #[arg(long, value_enum)]
    device: Option<Device>,
    /// Measure against another system instead of native Rust
    #[arg(long, value_enum, conflicts_with = "device")]
    against: Option<Rival>,
    /// Measure interpreted and compiled kernels on the software device, and what compiling takes
    #[arg(long, conflicts_with_all = ["device", "against", "checks", "launches", "arrays"])]
    engines: bool,
    /// Measure what each choice of `RUMBA_CHECK` costs on the software device
    #[arg(long, conflicts_with_all = ["device", "against"])]
    checks: bool,
    /// Measure what a launch costs the host, beside a bare `cuLaunchKernel`
    #[arg(long, conflicts_with_all = ["names", "against", "checks"])]
    launches: bool,
    /// Measure how fast views of arrays are copied, beside a plain copy
    #[arg(long, conflicts_with_all = ["names", "against", "checks", "launches"])]
    arrays: bool,
}

/// The baseline of the comparison.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Rival {
    /// NVIDIA's compiler of CUDA C++: tests/baseline
    Nvcc,
    /// Numba, where the `python3` on the search path has it
    Numba,
    /// NVIDIA's library of algorithms, against ours
    Cub,
}

pub(crate) fn run(args: Args) -> Result<()> {
    setup::ensure()?;
    soft::ensure()?;
    let program = match args.against {
        Some(Rival::Nvcc) => "versus",
        Some(Rival::Numba) => "numba",
        Some(Rival::Cub) => "cub",
        None if args.engines => "engines",
        None if args.checks => "checks",
        None if args.launches => "launches",
        None if args.arrays => "arrays",
        None => "bench",
    };
    let mut bench = measuring(program)?;
    if program == "bench" {
        cargo_rumba::bench::compile_first(&mut bench);
        // As cargo tells programs that they are to measure.
        bench.arg("--bench");
    }
    if let Some(device) = args.device {
        bench.env("RUMBA_DEVICE", device.name());
    }
    if let Some(Rival::Cub) = args.against {
        bench.arg(shell::workspace().join("tests/baseline/cub/cub.cu"));
    }
    shell::run(bench.args(&args.names))
}

/// Builds a program that measures, in release.
pub(crate) fn measuring(program: &str) -> Result<Command> {
    let mut build = shell::cargo();
    build.args(["build", "--release", "--package", "rumba-tests", "--features", "measure", "--bin", program]);
    shell::run(&mut build)?;
    Ok(Command::new(shell::target().join("release").join(program)))
}
