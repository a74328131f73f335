//! Each case on two devices: the same PTX, the same inputs, and the results compared with each other, not with a reference.
//! `cargo xtask diff` builds and runs it.
//!
//! A process has one device. This one has the software device, and starts itself again for the other, whose results come
//! through a file.

use anyhow::{Context, Result, bail};
use comfy_table::{Table, presets};
use rumba::Device;
use rumba_tests::{Case, PTX, PTX_HASH, Results, Tolerance, cases, compare, record};
use std::io::IsTerminal;
use std::process::Command;

/// Has this process write its results to the file that follows.
const RECORD: &str = "--record";

fn main() -> Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let file = match words.iter().position(|word| word == RECORD) {
        Some(at) => words.drain(at..).nth(1),
        None => None,
    };
    let chosen = cases::chosen(&words)?;
    match file {
        Some(file) => {
            std::fs::write(&file, encode(&results(&chosen)?)).with_context(|| format!("could not write {file}"))
        }
        None => diff(&chosen, &words),
    }
}

/// The results of the cases on this process's device.
fn results(chosen: &[&Case]) -> Result<Vec<Vec<Results>>> {
    let device = Device::new()?;
    eprintln!("{}", device.name());
    let module = device.load(PTX)?;
    let one = |case: &&Case| {
        let mut prepared = (case.prepare)(&device, &module, case.middling())?;
        prepared.launch()?;
        device.synchronize()?;
        record(|| prepared.verify()).with_context(|| case.name)
    };
    chosen.iter().map(one).collect()
}

/// The numbers as bytes: how many arrays of each case, how long each, and the elements.
fn encode(results: &[Vec<Results>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for arrays in results {
        bytes.extend((arrays.len() as u64).to_le_bytes());
        for Results { values, .. } in arrays {
            bytes.extend((values.len() as u64).to_le_bytes());
            bytes.extend(values.iter().flat_map(|value| value.to_bits().to_le_bytes()));
        }
    }
    bytes
}

/// Decodes the output of [`encode`].
fn decode(bytes: &[u8], cases: usize) -> Option<Vec<Vec<Vec<f64>>>> {
    let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let array = |words: &mut dyn Iterator<Item = u64>| {
        let length = words.next()?;
        Some(words.take(length as usize).map(f64::from_bits).collect())
    };
    (0..cases)
        .map(|_| {
            let arrays = words.next()?;
            (0..arrays).map(|_| array(&mut words)).collect()
        })
        .collect()
}

fn diff(chosen: &[&Case], words: &[String]) -> Result<()> {
    let other = std::env::var("RUMBA_DIFF_AGAINST").unwrap_or_else(|_| "gpu".to_owned());
    let seed = std::env::var_os("RUMBA_DIFF_SEED");
    // SAFETY: the process has a single thread here.
    unsafe { std::env::set_var("RUMBA_DEVICE", "soft") };
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("results");
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words).arg(RECORD).arg(&file).env("RUMBA_DEVICE", &other);
    if let Some(seed) = seed {
        command.env("RUMBA_CHECK", "mem,race").env("RUMBA_CHECK_SEED", seed);
    }
    println!("PTX {PTX_HASH}, on:");
    let status = command.status()?;
    let bytes = std::fs::read(&file);
    if !status.success() {
        bail!(
            "there are no results to compare with (RUMBA_DEVICE={other}); without a GPU `cargo xtask diff --against soft` compares \
             two orders of threads"
        );
    }
    let theirs = bytes.ok().and_then(|bytes| decode(&bytes, chosen.len()));
    let theirs = theirs.context("the results of the other device are cut short")?;
    let ours = results(chosen)?;

    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(["case", "n", "elements", "equal bits", "outcome"]);
    let mut wrong = Vec::new();
    for ((case, ours), theirs) in chosen.iter().zip(&ours).zip(&theirs) {
        for (ours, theirs) in ours.iter().zip(theirs) {
            let equal = ours.values.iter().zip(theirs).filter(|(a, b)| a.to_bits() == b.to_bits());
            let equal = equal.count();
            let outcome = match compare(theirs, &ours.values, ours.tolerance) {
                Ok(()) if equal == ours.values.len() => "bit for bit".to_owned(),
                Ok(()) => within(ours.tolerance),
                Err(error) => {
                    wrong.push(case.name);
                    error.to_string()
                }
            };
            table.add_row([
                case.name.to_owned(),
                case.middling().to_string(),
                ours.values.len().to_string(),
                format!("{:.2} %", 100.0 * equal as f64 / ours.values.len().max(1) as f64),
                outcome,
            ]);
        }
    }
    println!("{table}");
    if !wrong.is_empty() {
        bail!("the devices disagree on {}", wrong.join(", "));
    }
    Ok(())
}

/// In words, how far apart results may be.
fn within(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Exact => "equal".to_owned(),
        Tolerance::Near { absolute, relative } => format!("within {absolute:.0e} + {relative:.0e} of the value"),
        Tolerance::AllBut { one_in } => format!("less than one in {one_in} differs"),
    }
}
