//! `cargo xtask demo`: from a fresh clone to a table of checked results, in one command.

use crate::gallery::{self, Device, Record};
use crate::{build_ptx, setup, shell, soft};
use anyhow::{Result, bail};
use cargo_rumba::archive;
use comfy_table::{Cell, CellAlignment, Color, Table, presets};
use cuda_builder::CudaBuilder;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// Set up what is missing, build the kernels to PTX, run the gallery and check every result
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask demo                 a GPU if there is one, otherwise the software device
  cargo xtask demo --device soft   the software device, also where there is a GPU
  cargo xtask demo --no-wheels     without NVIDIA's optional tools, now and in later commands")]
pub(crate) struct Args {
    /// Where the kernels run [default: $RUMBA_DEVICE, otherwise auto]
    #[arg(long, value_enum)]
    device: Option<Device>,
    /// Do not fetch NVIDIA's libdevice, ptxas and nvdisasm
    #[arg(long)]
    no_wheels: bool,
}

pub(crate) fn run(args: Args) -> Result<()> {
    if args.no_wheels {
        setup::leave_out_wheels()?;
    }
    let programs = gallery::programs()?;
    setup::ensure_beside(|tools| build(&programs, tools))?;

    let bar = ProgressBar::new(programs.len() as u64)
        .with_style(ProgressStyle::with_template("{spinner} {pos}/{len} {msg}").expect("the template is constant"));
    bar.enable_steady_tick(Duration::from_millis(100));
    let mut records = Vec::new();
    let mut failed = Vec::new();
    for program in &programs {
        bar.set_message(format!("running {program}"));
        match gallery::records(program, args.device) {
            Ok(rows) => records.extend(rows),
            Err(error) => bar.suspend(|| {
                eprintln!("{error:#}");
                failed.push(program.as_str());
            }),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    if let Some(first) = records.first() {
        println!("device: {}\nPTX:    {}\n", first.device, first.ptx_hash);
        println!("{}", table(&records));
        println!("\nTimes are wall-clock. CPU: the same work as a plain Rust loop on one core.");
        println!(
            "One program alone: cargo xtask run NAME -- --help. A kernel of your own: cargo xtask new kernel NAME"
        );
    }
    failed.extend(records.iter().filter(|record| !record.ok).map(|record| record.name.as_str()));
    if !failed.is_empty() {
        bail!("wrong or failed: {}", failed.join(", "));
    }
    Ok(())
}

fn table(records: &[Record]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(["program", "elements", "result", "CPU", "copy in", "kernel", "copy out", "device, all"]);
    for record in records {
        let result = if record.ok { Cell::new("correct").fg(Color::Green) } else { Cell::new("WRONG").fg(Color::Red) };
        let total = record.copy_in_s + record.kernel_s + record.copy_out_s;
        table.add_row([
            Cell::new(&record.name),
            Cell::new(record.n),
            result,
            Cell::new(time(record.cpu_s)),
            Cell::new(time(record.copy_in_s)),
            Cell::new(time(record.kernel_s)),
            Cell::new(time(record.copy_out_s)),
            Cell::new(time(total)),
        ]);
    }
    for column in table.column_iter_mut().filter(|column| ![0, 2].contains(&column.index)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Seconds with a unit that fits, three significant digits, as the programs themselves show them.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-1 => format!("{:.0} ms", s * 1e3),
        s if s >= 1e-2 => format!("{:.1} ms", s * 1e3),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s if s >= 1e-4 => format!("{:.0} µs", s * 1e6),
        s => format!("{:.1} µs", s * 1e6),
    }
}

/// Builds the software device, and beside it the gallery: LLVM compiles the machine on one core. The gallery's kernels wait for
/// NVIDIA's tools, or `core` and they would be compiled again with libdevice.
fn build(programs: &[String], tools: &setup::Download) -> Result<()> {
    let gallery = |progress| {
        tools.wait();
        gallery_kernels(progress)?;
        gallery::compile(programs, gallery::Profile::Dev, progress)
    };
    if soft::is_being_built() {
        gallery(gallery::Progress::Shown)?;
        return soft::ensure();
    }
    // The first build of the device shows its progress. Later builds are quiet, and a device of an archive is not built.
    let is_quiet = soft::built().exists() || archive::is_installed();
    let progress = if is_quiet { gallery::Progress::Shown } else { gallery::Progress::Hidden };
    std::thread::scope(|scope| {
        let gallery = scope.spawn(move || gallery(progress));
        soft::ensure()?;
        if progress == gallery::Progress::Hidden && !gallery.is_finished() {
            eprintln!("the programs of the gallery are still being compiled ...");
        }
        gallery.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause))
    })
}

/// Builds the gallery's kernels, and puts their PTX where `cargo xtask build-ptx` puts it.
fn gallery_kernels(progress: gallery::Progress) -> Result<()> {
    let folder = shell::workspace().join("kernels-gpu");
    let ptx = build_ptx::default_output(&folder);
    let builder = CudaBuilder::new(&folder).target_dir(shell::target().join("cuda-builder")).copy_to(ptx);
    builder.progress(progress == gallery::Progress::Shown).build()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown: Vec<String> = [2.5, 0.25, 0.025, 0.0025, 0.000_25].map(time).into();
        assert_eq!(shown, ["2.50 s", "250 ms", "25.0 ms", "2.50 ms", "250 µs"]);
    }
}
