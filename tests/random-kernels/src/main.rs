//! Launches the generated kernels on a device and compares what they write with an evaluation on the host.
//!
//! Without `--here`, it runs itself for both engines of the software device, or for the GPU where `RUMBA_DEVICE=gpu` says so.

#[allow(dead_code, reason = "the build scripts print whole crates")]
mod program;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use generated_kernels::{Inputs, call};
use program::evaluate::{Data, Outcome, launch};
use program::{COUNTERS, RESULTS, Slice, generate, source};
use rumba::{Device, Module};

const PTX: &str = include_str!(env!("RANDOM_KERNELS_PTX"));
const SEED: &str = env!("RANDOM_KERNELS_SEED");
const COUNT: &str = env!("RANDOM_KERNELS_COUNT");

/// Compares random safe kernels on devices with an evaluation on the host
#[derive(Parser)]
#[command(after_help = "Examples:
  random-kernels                          both engines of the software device
  RUMBA_DEVICE=gpu random-kernels         a GPU
  random-kernels --here --only 17         one kernel, on the engine that RUMBA_ENGINE names
  random-kernels --show 17                its Rust")]
struct Args {
    /// In this process alone
    #[arg(long)]
    here: bool,
    /// The kernel with this number alone
    #[arg(long, value_name = "NUMBER")]
    only: Option<u64>,
    /// Every kernel whose number leaves this remainder when divided by the number behind the slash, for several processes
    #[arg(long, value_name = "REMAINDER/PROCESSES")]
    share: Option<String>,
    /// Print the Rust of the kernel with this number
    #[arg(long, value_name = "NUMBER")]
    show: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let (seed, count): (u64, u64) = (SEED.parse()?, COUNT.parse()?);
    if let Some(number) = args.show {
        print!("{}", source::kernel_text(&generate::program(seed.wrapping_add(number)), number));
        return Ok(ExitCode::SUCCESS);
    }
    let numbers: Vec<u64> = match (args.only, &args.share) {
        (Some(number), _) => vec![number],
        (None, None) => (0..count).collect(),
        (None, Some(share)) => {
            let (remainder, processes) = share.split_once('/').context("--share is of the form 3/16")?;
            (remainder.parse()?..count).step_by(processes.parse::<usize>()?.max(1)).collect()
        }
    };
    anyhow::ensure!(
        numbers.iter().all(|&number| number < count),
        "there are {count} kernels, the first has the number 0"
    );
    if args.here || std::env::var("RUMBA_DEVICE").is_ok_and(|device| device == "gpu") {
        return compare(seed, numbers);
    }
    let mut failed = false;
    for engine in ["interpreter", "compiled"] {
        let mut this = Command::new(std::env::current_exe()?);
        this.arg("--here").env("RUMBA_ENGINE", engine);
        this.args(std::env::args_os().skip(1));
        failed |= !this.status().context("this program cannot be run again")?.success();
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs kernels on this process's device.
fn compare(seed: u64, numbers: Vec<u64>) -> Result<ExitCode> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let engine = std::env::var("RUMBA_ENGINE").unwrap_or_default();
    let what = format!("{} {engine}", device.name());
    let data = data();
    let (mut different, total, mut said) = (Vec::new(), numbers.len(), Instant::now());
    for number in numbers {
        if said.elapsed() > Duration::from_secs(5) {
            said = Instant::now();
            eprintln!("{what}: kernel {number}");
        }
        if let Some(difference) = difference(seed, number, &module, &data) {
            println!("kernel {number} of seed {seed}, {what}: {difference}");
            different.push(number);
        }
    }
    println!("{what}: {total} kernels of seed {seed}, {} differ {different:?}", different.len());
    Ok(if different.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How the kernel's results differ from the evaluation's, if they do.
fn difference(seed: u64, number: u64, module: &Module, data: &Data) -> Option<String> {
    let program = generate::program(seed.wrapping_add(number));
    let [blocks_x, blocks_y] = program.grid;
    let [x, y, z] = program.block;
    let shape = [z, blocks_y * y, blocks_x * x].map(|length| length as usize);
    let begin = Outcome {
        counters: (0..COUNTERS as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect(),
        results: vec![[0x5555_5555_5555_5555; RESULTS]; shape.iter().product()],
    };
    let mut expected = begin.clone();
    launch(&program, data, &mut expected);

    let Outcome { mut counters, mut results } = begin;
    let inputs = Inputs {
        words: &data.words,
        longs: &data.longs,
        bytes: &data.bytes,
        shorts: &data.shorts,
        floats: &data.floats,
        doubles: &data.doubles,
        number: program.number,
    };
    let call = call(number, &inputs, &mut counters, &mut results, shape);
    match module.launch(((blocks_x, blocks_y), (x, y, z)), call) {
        Err(error) => Some(format!("{error}")),
        Ok(()) => describe(&expected, &Outcome { counters, results }),
    }
}

/// The first difference.
fn describe(expected: &Outcome, found: &Outcome) -> Option<String> {
    if let Some(i) = (0..COUNTERS).find(|&i| expected.counters[i] != found.counters[i]) {
        return Some(format!("counter {i} is {:#x}, not {:#x}", found.counters[i], expected.counters[i]));
    }
    let differ: Vec<usize> = (0..expected.results.len()).filter(|&i| expected.results[i] != found.results[i]).collect();
    let &first = differ.first()?;
    let (of, all) = (differ.len(), expected.results.len());
    Some(format!(
        "{of} of {all} results, first {first}: {:x?}, not {:x?}",
        found.results[first], expected.results[first]
    ))
}

/// Inputs: small numbers, edges, and any.
fn data() -> Data {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut bits = |len: usize| -> Vec<u64> {
        (0..len)
            .map(|_| match rng.u8(..4) {
                0 => rng.u64(..8),
                1 => 0_u64.wrapping_sub(rng.u64(..8)),
                2 => 1 << rng.u32(..64),
                _ => rng.u64(..),
            })
            .collect()
    };
    let small = |bits: u64| (bits as i64 % 1000) as f64 / 8.0;
    Data {
        words: bits(Slice::Words.len()).into_iter().map(|bits| bits as u32).collect(),
        longs: bits(Slice::Longs.len()),
        bytes: bits(Slice::Bytes.len()).into_iter().map(|bits| bits as u8).collect(),
        shorts: bits(Slice::Shorts.len()).into_iter().map(|bits| bits as i16).collect(),
        floats: bits(Slice::Floats.len()).into_iter().map(|bits| small(bits) as f32).collect(),
        doubles: bits(Slice::Doubles.len()).into_iter().map(small).collect(),
    }
}
