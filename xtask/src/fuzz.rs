//! `cargo xtask fuzz TARGET`: runs a fuzz target of the folder fuzz/ with libFuzzer.
//!
//! `programs` and `kernels` do not use libFuzzer: their programs follow from seeds (`programs.rs`, `kernels.rs`).
//!
//! The stable compiler instruments code for coverage through LLVM's own pass, so neither a nightly toolchain nor
//! cargo-fuzz is needed (which works, too). The targets in fuzz/targets describe their work.

mod kernels;
mod programs;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::shell;

/// Run a fuzz target: parser, machine, engines, driver (which need a C++ compiler), programs, kernels
///
/// New inputs that reach new code are kept in target/fuzz/corpus, those that fail in target/fuzz/findings. Give a file to
/// run it alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask fuzz parser --seconds 600
  cargo xtask fuzz machine target/fuzz/findings/machine/crash-…
  cargo xtask fuzz programs --seconds 600 --coverage
  cargo xtask fuzz kernels --count 2000 --seed 7")]
pub(crate) struct Args {
    /// What to fuzz
    target: Target,
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// `programs` only: processes at a time; 0 for one per core
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// `kernels` only: the number of kernels
    #[arg(long, default_value_t = 200)]
    count: u64,
    /// `programs` and `kernels` only: the first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// `programs` only: report how much of the machine's fast paths the programs reach (needs rustup's `llvm-tools`)
    #[arg(long)]
    coverage: bool,
    /// Inputs to run instead of looking for new ones
    inputs: Vec<std::path::PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    Parser,
    Machine,
    /// The machine's engines against each other
    Engines,
    Driver,
    /// Engines against each other, on programs made by chance
    Programs,
    /// Engines against an evaluation on the host, on safe Rust kernels made by chance
    Kernels,
}

/// Counters of edges and comparisons, as cargo-fuzz asks for them.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];

/// Longest run of one input, in seconds.
const TIMEOUT: u32 = 20;

pub(crate) fn run(args: Args) -> Result<()> {
    let name = match args.target {
        Target::Parser => "parser",
        Target::Machine => "machine",
        Target::Engines => "engines",
        Target::Driver => "driver",
        Target::Kernels => return kernels::run(args.seed, args.count),
        Target::Programs => {
            return programs::run(&programs::Run {
                seconds: args.seconds,
                jobs: args.jobs,
                seed: args.seed,
                coverage: args.coverage,
                inputs: args.inputs,
            });
        }
    };
    let root = shell::workspace().join("fuzz");
    let target = shell::target().join("fuzz");
    // Naming a target keeps build scripts and macros free of the flags.
    let host = host()?;
    let mut build = shell::cargo();
    build.current_dir(&root).args(["build", "--release", "--bin", name]);
    build.args(["--target", &host]).arg("--target-dir").arg(&target);
    shell::run(build.env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}")))?;

    let program = target.join(host).join("release").join(name);
    let mut fuzzer = std::process::Command::new(program);
    fuzzer.current_dir(shell::workspace());
    if !args.inputs.is_empty() {
        return shell::run(fuzzer.args(&args.inputs));
    }
    let (grown, findings) = (target.join("corpus").join(name), target.join("findings").join(name));
    std::fs::create_dir_all(&grown)?;
    std::fs::create_dir_all(&findings)?;
    fuzzer.arg(format!("-max_total_time={}", args.seconds));
    fuzzer.arg(format!("-timeout={TIMEOUT}")).arg("-rss_limit_mb=4096").arg("-print_final_stats=1");
    fuzzer.arg(format!("-artifact_prefix={}/", findings.display()));
    let words = root.join("ptx.dict");
    if !matches!(args.target, Target::Driver) {
        fuzzer.arg(format!("-dict={}", words.display()));
    }
    // The inputs are those of the machine.
    let seeds = match args.target {
        Target::Engines => "machine",
        Target::Parser | Target::Machine | Target::Driver | Target::Programs | Target::Kernels => name,
    };
    fuzzer.arg(grown).arg(root.join("corpus").join(seeds));
    shell::run(&mut fuzzer)
}

/// The machine that this runs on, as the compiler calls it.
fn host() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let text = shell::output(std::process::Command::new(rustc).arg("-vV"))?;
    match text.lines().find_map(|line| line.strip_prefix("host: ")) {
        Some(host) => Ok(host.to_owned()),
        None => bail!("rustc -vV names no host"),
    }
}
