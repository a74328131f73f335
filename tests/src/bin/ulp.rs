//! `cargo xtask ulp`: measures, prints the table, compares it with `bounds.txt`.

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use rumba::Device;
use rumba_tests::ulp::bounds::Bounds;
use rumba_tests::ulp::measure::{self, Effort, Library, Measured};

/// Measure the errors of cuda_std's functions, in units in the last place
#[derive(Parser)]
#[command(after_help = "Examples:
  cargo xtask ulp                  a sample of each function, on the device that RUMBA_DEVICE names
  cargo xtask ulp --exhaustive     all f32 numbers: seconds on a GPU, hours on the software device
  cargo xtask ulp --function sin   functions whose name contains `sin`, with the worst inputs
  cargo xtask ulp --bless          write larger errors into tests/src/ulp/bounds.txt")]
struct Args {
    /// Functions whose name contains this
    #[arg(long, default_value = "")]
    function: String,
    /// Try every f32
    #[arg(long)]
    exhaustive: bool,
    /// How many f32 numbers to try, as a power of 2
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u8).range(10..=32))]
    bits: u8,
    /// How many other inputs to try
    #[arg(long, default_value_t = 10_000)]
    samples: usize,
    /// Chooses the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write what is worse than known into the table
    #[arg(long)]
    bless: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let effort =
        Effort { single: 1 << if args.exhaustive { 32 } else { args.bits }, other: args.samples, seed: args.seed };
    let device = Device::new()?;
    let all = measure::measure(&device, effort, &args.function)?;
    println!("{}", device.name());
    println!("{}", table(&all, !args.function.is_empty()));
    let bounds = Bounds::read()?;
    if args.bless {
        anyhow::ensure!(args.function.is_empty(), "the table is written as a whole: leave out --function");
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/src/ulp/bounds.txt"),
            bounds.blessed(&all, args.exhaustive),
        )?;
        return Ok(());
    }
    bounds.check(&all)
}

/// A line for each function, a column for each type and library.
fn table(all: &[Measured], with_inputs: bool) -> Table {
    let columns: Vec<(&str, &str)> = ["f32", "f64"]
        .into_iter()
        .flat_map(|ty| Library::ALL.iter().map(move |library| (ty, library.name())))
        .collect();
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let header = columns.iter().map(|(ty, library)| format!("{ty} {library}"));
    table.set_header(std::iter::once("ulp".to_owned()).chain(header));
    let mut functions: Vec<&str> = all.iter().map(|measured| measured.function).collect();
    let mut seen = std::collections::HashSet::new();
    functions.retain(|&function| seen.insert(function));
    for function in functions {
        let cells = columns.iter().map(|&(ty, library)| {
            let found = all
                .iter()
                .find(|measured| (measured.function, measured.ty, measured.library) == (function, ty, library));
            found.map_or(String::new(), |measured| match with_inputs {
                true => format!("{:.3} at {}", measured.ulps, measured.input),
                false => format!("{:.3}", measured.ulps),
            })
        });
        table.add_row(std::iter::once(function.to_owned()).chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
