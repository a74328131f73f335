//! The engines of the software device: every case interpreted and compiled, what compiling its kernels takes, and finding
//! them on disk. `cargo xtask bench --engines` builds and runs it.

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use rumba_tests::figures::time;
use rumba_tests::served::{SERVE, Server, least, serve};
use rumba_tests::{Case, cases};
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::process::Stdio;
use std::time::Instant;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == SERVE) {
        return serve();
    }
    let chosen = cases::chosen(&words)?;
    let folder = tempfile::tempdir()?;
    let cache = folder.path().to_str().context("the folder for temporary files")?;
    let log = folder.path().join("log");
    let compiled = [("RUMBA_ENGINE", "compiled"), ("RUMBA_CACHE", cache), ("RUMBA_LOG", "errors")];
    let mut servers = [
        Server::start(&[("RUMBA_ENGINE", "interpreter")], Stdio::inherit())?,
        Server::start(&compiled, File::create(&log)?.into())?,
    ];
    // The second process loads the native code that the first process cached.
    let mut later = Server::start(&compiled[..2], Stdio::inherit())?;
    let mut log = BufReader::new(File::open(&log)?);
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header([
        "case",
        "n",
        "interpreted",
        "compiled",
        "ratio",
        "functions",
        "compiling",
        "size",
        "first: interpreted",
        "compiled",
        "from disk",
    ]);
    let mut logarithm = 0.0;
    let mut total = Compiling::default();
    for case in &chosen {
        let [interpreter, compiler] = &mut servers;
        let first = [interpreter, compiler, &mut later].map(|server| first_launches(server, case));
        let [interpreted, native] = least(&mut servers, case).with_context(|| case.name.to_owned())?;
        let compiling = Compiling::read(&mut log)?;
        total.add(&compiling);
        logarithm += (interpreted / native).ln();
        let mut row = vec![
            case.name.to_owned(),
            case.bench[0].to_string(),
            time(interpreted),
            time(native),
            format!("{:.2}", interpreted / native),
            compiling.functions.to_string(),
            time(compiling.milliseconds / 1e3),
            format!("{} KiB", compiling.kibibytes),
        ];
        for seconds in first {
            row.push(time(seconds?));
        }
        table.add_row(row);
    }
    let mean = (logarithm / chosen.len() as f64).exp();
    let mut row = vec!["geometric mean, sums".to_owned(), String::new(), String::new(), String::new()];
    row.push(format!("{mean:.2}"));
    row.push(total.functions.to_string());
    row.push(time(total.milliseconds / 1e3));
    row.push(format!("{} KiB", total.kibibytes));
    row.extend([const { String::new() }; 3]);
    table.add_row(row);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!(
        "time of a launch by each engine; functions that are compiled, and how long that takes; time of a case's preparation \
         with its first two launches, interpreted, compiled, and in a later process that finds the code on disk\n{table}"
    );
    Ok(())
}

/// Seconds of a case's preparation and its first two launches in a process.
fn first_launches(server: &mut Server, case: &Case) -> Result<f64> {
    let start = Instant::now();
    server.ask(case)?;
    Ok(start.elapsed().as_secs_f64())
}

/// The compilations that a process reported.
#[derive(Debug, Default)]
struct Compiling {
    functions: u32,
    milliseconds: f64,
    kibibytes: u64,
}

impl Compiling {
    /// Reads what was said since the last call.
    fn read(log: &mut impl BufRead) -> Result<Self> {
        let mut sum = Self::default();
        let mut line = String::new();
        while log.read_line(&mut line)? > 0 {
            if let Some(one) = Self::of(&line) {
                sum.add(&one);
            }
            line.clear();
        }
        Ok(sum)
    }

    /// Parses a line such as ``rumba: kernel `saxpy`: compiled in 23 ms, 4 KiB``.
    fn of(line: &str) -> Option<Self> {
        let (_, numbers) = line.split_once("compiled in ")?;
        let (milliseconds, rest) = numbers.split_once(" ms, ")?;
        Some(Self {
            functions: 1,
            milliseconds: milliseconds.parse().ok()?,
            kibibytes: rest.split_once(" KiB")?.0.parse().ok()?,
        })
    }

    fn add(&mut self, other: &Self) {
        self.functions += other.functions;
        self.milliseconds += other.milliseconds;
        self.kibibytes += other.kibibytes;
    }
}
