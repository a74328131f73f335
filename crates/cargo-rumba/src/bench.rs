//! `cargo rumba bench`: the project's benchmarks on a chosen device.
//!
//! Benchmarks are programs of the project that use `rumba::Bench`, which measures, prints and draws. This file finds and starts
//! them, with the kernels compiled before they run.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::device::Device;
use crate::{doctor, place, project, setup, shell, soft};

/// Measure kernels against plain Rust: time, rate, share of the device's limit, sizes from which the device is faster
///
/// Runs the project's files in `benches` whose section `[[bench]]` has `harness = false` and which use `rumba::Bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo rumba bench                    all benchmarks of the package in this folder
  cargo rumba bench saxpy scan         those whose names contain one of these words
  cargo rumba bench --device gpu
  cargo rumba bench --package heat

A benchmark of several sizes prints a table of them and the size from which on the device is faster, and draws the times into \
target/rumba/bench/NAME.svg and .png. The last table has each benchmark with its largest size. Times are medians with half of the \
interquartile range. The limit is that of the memory (a copy) or of the arithmetic unit (multiply-adds), measured on this device. The \
documentation of rumba::Bench has an example.")]
pub struct Args {
    /// Benchmarks whose names contain one of these words [default: all]
    words: Vec<String>,
    /// The device
    #[arg(long, value_enum, default_value = "auto")]
    device: Device,
    /// The package [default: that of this folder, or all of the workspace]
    #[arg(short, long)]
    package: Option<String>,
    /// The cargo profile that the benchmarks are built with
    #[arg(long, value_name = "NAME", default_value = "bench")]
    profile: String,
    /// The folder of the plots [default: target/rumba/bench]
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Runs `cargo rumba bench`.
///
/// # Errors
/// If the project has no benchmarks, or one of them fails.
pub fn run(args: Args) -> Result<()> {
    args.device.ensure()?;
    let metadata =
        project::metadata(Path::new(".")).context("there is no project here; `cargo rumba new PATH` begins one")?;
    let current = metadata.current()?.map(|package| package.name.as_str());
    let chosen = args.package.as_deref().or(current);
    let packages: Vec<&project::Package> =
        metadata.packages.iter().filter(|package| chosen.is_none_or(|name| package.name == name)).collect();
    if packages.is_empty() {
        let mut names: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
        names.sort_unstable();
        bail!("the workspace has no package `{}`; it has {}", chosen.unwrap_or_default(), names.join(", "));
    }
    let benches = |package: &project::Package| -> Vec<String> {
        let targets = package.targets.iter().filter(|target| target.is("bench"));
        targets.map(|target| target.name.clone()).collect()
    };
    if packages.iter().all(|package| benches(package).is_empty()) {
        let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
        bail!(
            "{} has no benchmarks. A benchmark is a file such as benches/kernels.rs with a `main` that uses `rumba::Bench`, as its \
             documentation shows, and these lines in Cargo.toml:\n\n[[bench]]\nname = \"kernels\"\nharness = false\n",
            names.join(", ")
        );
    }
    setup::ensure()?;
    soft::ensure()?;
    let folder = args.folder.unwrap_or_else(|| place::output().join("rumba/bench"));
    let folder = std::path::absolute(&folder).with_context(|| format!("could not find {}", folder.display()))?;
    for package in packages {
        let targets = benches(package);
        if targets.is_empty() {
            continue;
        }
        let mut cargo = shell::cargo();
        cargo
            .args(of_package(&package.name, &args.profile))
            .args(targets.iter().flat_map(|target| ["--bench", target]));
        if let Some(feature) = package.report() {
            cargo.args(["--features", &feature]);
        }
        cargo.arg("--").args(&args.words).env("RUMBA_DEVICE", args.device.name()).env("RUMBA_BENCH", &folder);
        compile_first(&mut cargo);
        shell::run(&mut cargo)?;
    }
    Ok(())
}

/// The first words of the command with which cargo builds and runs the benchmarks of a package.
fn of_package<'a>(name: &'a str, profile: &'a str) -> [&'a str; 5] {
    ["bench", "--package", name, "--profile", profile]
}

/// Compiles kernels before they run, where this is possible: the times are not those of the first seconds, and the same each time.
pub fn compile_first(command: &mut std::process::Command) {
    if std::env::var_os("RUMBA_ENGINE").is_none() && doctor::compiles() {
        command.env("RUMBA_ENGINE", "compiled");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: super::Args,
    }

    #[test]
    fn benchmarks_are_built_as_by_cargo_bench_unless_another_profile_is_named() {
        for (words, profile) in [(&["bench"][..], "bench"), (&["bench", "--profile", "dev"], "dev")] {
            let Cli { args } = Cli::parse_from(words);
            assert_eq!(super::of_package("heat", &args.profile), ["bench", "--package", "heat", "--profile", profile]);
        }
    }
}
