//! The gallery against nvcc: each case with our kernels and with those that nvcc made of the same algorithms in CUDA C++
//! (tests/baseline), both loaded from PTX by the driver, in one run on one GPU. `cargo xtask bench --against nvcc` builds and
//! runs it.
//!
//! The two take turns, and the medians are compared. Both are checked against the same reference first. Registers, spills
//! and machine instructions are NVIDIA's assembler's, where it is installed; that part needs no GPU.

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use cuda_builder::inspect::{self, InspectError};
use rumba::{Device, Module};
use rumba_tests::figures::median;
use rumba_tests::{Case, NVCC, PTX, Prepared, baselines, cases};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Launches of each for a median, and how long they may take.
const ROUNDS: usize = 41;
const BUDGET: Duration = Duration::from_millis(1500);
/// Bytes of the copy that tells the bandwidth.
const COPY: usize = 1 << 30;
/// The architecture to compile for without a GPU.
const ARCHITECTURE: &str = "sm_90";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let pairs: Vec<(&Case, Vec<&str>)> = cases::chosen(&words)?
        .into_iter()
        .map(|case| (case, baselines(case)))
        .filter(|(_, kernels)| !kernels.is_empty())
        .collect();
    if pairs.is_empty() {
        bail!("no case with a baseline has `{}` in its name", words.join("` or `"));
    }
    code(&pairs)?;
    times(&pairs)
}

/// The size of a kernel's machine code.
#[derive(Clone, Copy, Default)]
struct Code {
    registers: u32,
    spills: u32,
    instructions: usize,
}

/// Every kernel of a module as machine code.
fn assembled(ptx: &str) -> Result<BTreeMap<String, Code>, InspectError> {
    let architecture = ARCHITECTURE.parse().expect("the name of an architecture");
    let mut all = BTreeMap::new();
    for resources in inspect::resources(ptx, architecture)? {
        let code = Code {
            registers: resources.registers,
            spills: resources.spill_stores + resources.spill_loads + resources.stack,
            instructions: 0,
        };
        all.insert(resources.kernel, code);
    }
    let mut current = None;
    for line in inspect::sass(ptx, architecture)?.lines() {
        if let Some(section) = line.trim_start().strip_prefix(".section\t.text.") {
            current = section.split(',').next().map(str::to_owned);
        }
        // An instruction stands behind its offset; those that fill up the end do nothing.
        let is_instruction = line.trim_start().starts_with("/*") && line.contains(';') && !line.contains(" NOP ");
        if is_instruction && let Some(code) = current.as_ref().and_then(|name| all.get_mut(name)) {
            code.instructions += 1;
        }
    }
    Ok(all)
}

/// Prints registers, spills and instructions of both.
fn code(pairs: &[(&Case, Vec<&str>)]) -> Result<()> {
    let (ours, nvcc) = match (assembled(PTX), assembled(NVCC)) {
        (Ok(ours), Ok(nvcc)) => (ours, nvcc),
        (Err(InspectError::Missing { tool }), _) | (_, Err(InspectError::Missing { tool })) => {
            println!("{tool} is not installed, so machine code is not compared; `cargo xtask setup` installs it\n");
            return Ok(());
        }
        (Err(error), _) | (_, Err(error)) => return Err(error.into()),
    };
    let mut table = table(["kernel", "registers", "nvcc", "instructions", "nvcc", "bytes spilled", "nvcc"]);
    for kernel in pairs.iter().flat_map(|(_, kernels)| kernels) {
        let of = |all: &BTreeMap<String, Code>| all.get(*kernel).copied().unwrap_or_default();
        let (ours, nvcc) = (of(&ours), of(&nvcc));
        table.add_row([
            (*kernel).to_owned(),
            ours.registers.to_string(),
            nvcc.registers.to_string(),
            ours.instructions.to_string(),
            nvcc.instructions.to_string(),
            ours.spills.to_string(),
            nvcc.spills.to_string(),
        ]);
    }
    println!("{ARCHITECTURE}, by ptxas; instructions include those of panics\n{}\n", right(table));
    Ok(())
}

/// Measures and prints the times of both.
fn times(pairs: &[(&Case, Vec<&str>)]) -> Result<()> {
    // SAFETY: the process has a single thread here.
    unsafe { std::env::set_var("RUMBA_DEVICE", "gpu") };
    let device = Device::new().context("times need a GPU")?;
    let (ours, nvcc) = (
        device.load_named("the gallery", PTX)?,
        // SAFETY: nvcc's kernels are those of the gallery.
        unsafe { device.load_unchecked("nvcc's", NVCC) }?,
    );
    let copy = bandwidth(&device)?;
    println!("{}\ncopy on the device: {:.0} GB/s (bytes read and written)", device.name(), copy / 1e9);
    println!("medians of {ROUNDS} launches, in turns\n");

    let mut table =
        table(["case", "n", "ours", "nvcc", "ours / nvcc", "GB/s", "of copy", "nvcc's", "registers", "nvcc"]);
    let mut ratios = Vec::new();
    for (case, kernels) in pairs {
        let n = case.bench[1];
        let (a, b) = measure(&device, &ours, &nvcc, case, n).with_context(|| format!("{} of size {n}", case.name))?;
        let bytes = (case.cost)(n).bytes as f64;
        let share = |seconds: f64| format!("{:.1} %", 100.0 * bytes / seconds / copy);
        let registers = |module: &Module| -> Result<String> {
            let all: Result<Vec<String>> =
                kernels.iter().map(|kernel| Ok(module.info(kernel)?.registers.to_string())).collect();
            Ok(all?.join(" "))
        };
        table.add_row([
            case.name.to_owned(),
            n.to_string(),
            format!("{:.1} µs", a * 1e6),
            format!("{:.1} µs", b * 1e6),
            format!("{:.3}", a / b),
            format!("{:.0}", bytes / a / 1e9),
            share(a),
            share(b),
            registers(&ours)?,
            registers(&nvcc)?,
        ]);
        ratios.push((a / b, case.name));
    }
    println!("{}", right(table));
    let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let worst = ratios.iter().max_by(|a, b| a.0.total_cmp(&b.0)).context("there is a case")?;
    println!("ours / nvcc over {} cases: geometric mean {mean:.3}, worst {:.3} ({})", ratios.len(), worst.0, worst.1);
    Ok(())
}

/// Median seconds of our kernels and of nvcc's, which take turns; the first results of both are checked.
fn measure(device: &Device, ours: &Module, nvcc: &Module, case: &Case, n: usize) -> Result<(f64, f64)> {
    let mut both = Vec::new();
    for (whose, module) in [("ours", ours), ("nvcc's", nvcc)] {
        let mut prepared = (case.prepare)(device, module, n)?;
        prepared.launch()?;
        device.synchronize()?;
        prepared.native();
        prepared.verify().with_context(|| whose.to_owned())?;
        both.push(prepared);
    }
    let mut seconds = [Vec::new(), Vec::new()];
    let started = Instant::now();
    while seconds[0].len() < 5 || (seconds[0].len() < ROUNDS && started.elapsed() < BUDGET) {
        for (prepared, seconds) in both.iter_mut().zip(&mut seconds) {
            seconds.push(once(device, prepared.as_mut())?);
        }
    }
    let [ours, nvcc] = seconds.map(median);
    Ok((ours, nvcc))
}

fn once(device: &Device, prepared: &mut dyn Prepared) -> Result<f64> {
    let start = device.record()?;
    prepared.launch()?;
    let end = device.record()?;
    end.synchronize()?;
    Ok(end.since(&start)?.as_secs_f64())
}

/// Bytes per second that the device reads and writes in a copy from its memory to its memory, at its median.
fn bandwidth(device: &Device) -> Result<f64> {
    let source = device.zeros::<u8>(COPY)?;
    let mut destination = device.zeros::<u8>(COPY)?;
    let mut seconds = Vec::new();
    for _ in 0..ROUNDS {
        let start = device.record()?;
        destination.copy_from_buffer(&source)?;
        let end = device.record()?;
        end.synchronize()?;
        seconds.push(end.since(&start)?.as_secs_f64());
    }
    Ok(2.0 * COPY as f64 / median(seconds))
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(header);
    table
}

/// The table with its numbers to the right.
fn right(mut table: Table) -> Table {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
