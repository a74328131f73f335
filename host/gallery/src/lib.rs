//! Shared parts of the gallery's programs: options, the device and its module, the table at the end.
//!
//! The kernels, the data and the checks are each program's own; nothing here is part of the runtime.

use anyhow::{Context, bail};
use comfy_table::{Cell, CellAlignment, Color, Table, presets};
use cuda_std::launch::Call;
use rumba::{Device, Module, Timings};
use serde::Serialize;
use std::fmt::Debug;
use std::hint::black_box;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

// The programs of `src/bin` name this library, as modules of it too.
extern crate self as gallery;

/// The programs, which are files of `src/bin` and programs of their own as well.
pub mod programs {
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

/// The kernels of the gallery, compiled by this package's build script.
pub const PTX: &str = include_str!(env!("GALLERY_PTX"));

/// The beginning of their SHA-256, the same wherever the same PTX runs.
pub const PTX_HASH: &str = env!("GALLERY_PTX_HASH");

/// The options that every program has.
#[derive(clap::Args)]
pub struct Options {
    /// Where the kernels run [default: $RUMBA_DEVICE, otherwise auto]
    #[arg(long, value_name = "DEVICE", value_parser = ["auto", "gpu", "soft"])]
    device: Option<String>,

    /// Print one line of JSON for each result instead of a table
    #[arg(long)]
    json: bool,
}

/// A running program: its device, the gallery's module, and the results so far.
pub struct Showcase {
    name: &'static str,
    json: bool,
    device: Device,
    module: Module,
    rows: Vec<Row>,
    notes: Vec<String>,
}

/// One result, as `cargo xtask demo` reads it.
#[derive(Serialize)]
struct Row {
    name: String,
    n: usize,
    ok: bool,
    cpu_s: f64,
    copy_in_s: f64,
    kernel_s: f64,
    copy_out_s: f64,
    device: String,
    ptx_hash: &'static str,
}

impl Options {
    /// Chooses the device and loads the kernels.
    ///
    /// # Errors
    /// No such device, or PTX that it does not take.
    pub fn start(self, name: &'static str) -> anyhow::Result<Showcase> {
        sigpipe::reset();
        if let Some(device) = &self.device {
            // SAFETY: programs call this first in `main`, while there is one thread.
            unsafe { std::env::set_var("RUMBA_DEVICE", device) };
        }
        let device = Device::new()?;
        let module = device.load_named("the gallery's PTX", PTX)?;
        Ok(Showcase { name, json: self.json, device, module, rows: Vec::new(), notes: Vec::new() })
    }
}

impl Showcase {
    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The gallery's kernels on it.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Launches a kernel with one warp, so that later measurements exclude loading the kernel.
    ///
    /// # Errors
    /// The launch's.
    pub fn warm_up(&self, call: Call<'_>) -> anyhow::Result<()> {
        Ok(self.module.launch((1, 32), call)?)
    }

    /// Adds a result: what was computed (empty if the program computes one thing only) on how many
    /// elements, how long the CPU and the device took, and whether they agree.
    pub fn result(&mut self, what: &str, n: usize, cpu: Duration, device: Timings, agreed: Agreement) {
        let name = if what.is_empty() { self.name.to_owned() } else { format!("{} {what}", self.name) };
        if let Err(difference) = &agreed {
            eprintln!("{name}: the device's result is wrong: {difference}");
        }
        self.rows.push(Row {
            name,
            n,
            ok: agreed.is_ok(),
            cpu_s: cpu.as_secs_f64(),
            copy_in_s: device.copy_in.as_secs_f64(),
            kernel_s: device.kernel.as_secs_f64(),
            copy_out_s: device.copy_out.as_secs_f64(),
            device: self.device.name().to_owned(),
            ptx_hash: PTX_HASH,
        });
    }

    /// Says something about the results, where a person reads them.
    pub fn note(&mut self, what: &str) {
        self.notes.push(what.to_owned());
    }

    /// Prints the results.
    ///
    /// # Errors
    /// If any of them is wrong.
    pub fn finish(self) -> anyhow::Result<()> {
        if self.json {
            for row in &self.rows {
                println!("{}", serde_json::to_string(row).context("a row is plain data")?);
            }
        } else {
            println!("device: {}\nPTX:    {PTX_HASH}\n\n{}", self.device.name(), table(&self.rows));
            for note in &self.notes {
                println!("{note}");
            }
        }
        match self.rows.iter().filter(|row| !row.ok).count() {
            0 => Ok(()),
            wrong => bail!("{wrong} of {} results are wrong", self.rows.len()),
        }
    }
}

/// Nothing, or the first difference in words.
pub type Agreement = Result<(), String>;

/// Whether two results are the same in every element.
///
/// # Errors
/// The first difference.
pub fn same<T: PartialEq + Debug>(device: &[T], cpu: &[T]) -> Agreement {
    agree(device, cpu, |device, cpu| device == cpu)
}

/// Whether two results differ by rounding only: by at most `tolerance`, relative to the larger of
/// the expected value and 1.
///
/// # Errors
/// The first difference.
pub fn close<T: Copy + Into<f64> + Debug>(device: &[T], cpu: &[T], tolerance: f64) -> Agreement {
    agree(device, cpu, |&device, &cpu| {
        let (device, cpu): (f64, f64) = (device.into(), cpu.into());
        (device - cpu).abs() <= tolerance * cpu.abs().max(1.0)
    })
}

fn agree<T: Debug>(device: &[T], cpu: &[T], equal: impl Fn(&T, &T) -> bool) -> Agreement {
    if device.len() != cpu.len() {
        return Err(format!("{} elements instead of {}", device.len(), cpu.len()));
    }
    match device.iter().zip(cpu).position(|(device, cpu)| !equal(device, cpu)) {
        None => Ok(()),
        Some(index) => Err(format!("element {index} is {:?} instead of {:?}", device[index], cpu[index])),
    }
}

/// How long some work on the CPU takes. Wrap its results in [`black_box`] if it returns none.
pub fn time<R>(work: impl FnOnce() -> R) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(["", "elements", "CPU", "copy in", "kernel", "copy out", "device, all", "result"]);
    for row in rows {
        let device = row.copy_in_s + row.kernel_s + row.copy_out_s;
        let times = [row.cpu_s, row.copy_in_s, row.kernel_s, row.copy_out_s, device].map(Duration::from_secs_f64);
        let mut cells = vec![Cell::new(&row.name), Cell::new(row.n)];
        cells.extend(times.map(|time| Cell::new(shown(time)).set_alignment(CellAlignment::Right)));
        cells.push(match row.ok {
            true => Cell::new("correct").fg(Color::Green),
            false => Cell::new("WRONG").fg(Color::Red),
        });
        table.add_row(cells);
    }
    table
}

/// A duration with a unit that fits, three significant digits.
fn shown(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-1 => format!("{:.0} ms", s * 1e3),
        s if s >= 1e-2 => format!("{:.1} ms", s * 1e3),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-4 => format!("{:.0} µs", s * 1e6),
        s => format!("{:.1} µs", s * 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::{close, same, shown};
    use std::time::Duration;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown: Vec<String> = [2.5, 0.25, 0.025, 0.0025, 0.000_25, 0.000_002_5]
            .map(|seconds| shown(Duration::from_secs_f64(seconds)))
            .into();
        assert_eq!(shown, ["2.50 s", "250 ms", "25.0 ms", "2.50 ms", "250 µs", "2.5 µs"]);
    }

    #[test]
    fn differences_are_named() {
        assert_eq!(same(&[1, 2], &[1, 2]), Ok(()));
        assert_eq!(same(&[1, 3], &[1, 2]), Err("element 1 is 3 instead of 2".to_owned()));
        assert!(same(&[1], &[1, 2]).is_err());
        assert_eq!(close(&[1000.0_f32], &[1000.001], 1e-5), Ok(()));
        assert!(close(&[f32::NAN], &[1.0], 1e-5).is_err(), "not a number is close to nothing");
    }
}
