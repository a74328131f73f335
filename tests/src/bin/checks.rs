//! The cost of the software device's checks, by each engine: every case under each choice of checks, against the same
//! case without checks, everything measured in this one run. `cargo xtask bench --checks` builds and runs it.
//!
//! A process decides once what it checks, so there is one for each engine and choice; they take turns, case by case and run by
//! run, and the least time of each counts. Results are not compared here: the tests do that.

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use rumba_tests::cases;
use rumba_tests::figures::time;
use rumba_tests::served::{SERVE, Server, least, serve};
use std::io::IsTerminal;
use std::process::Stdio;

/// The values of `RUMBA_ENGINE`, one for each table.
const ENGINES: [&str; 2] = ["interpreter", "compiled"];
/// The values of `RUMBA_CHECK`, one for each column; the first column is the baseline.
const CHOICES: [&str; 6] = ["none", "mem", "mem,sync", "mem,init", "mem,race", "all"];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == SERVE) {
        return serve();
    }
    let chosen = cases::chosen(&words)?;
    let settings = ENGINES.iter().flat_map(|engine| CHOICES.map(|checks| (*engine, checks)));
    let servers: Vec<Server> = settings
        .map(|(engine, checks)| Server::start(&[("RUMBA_ENGINE", engine), ("RUMBA_CHECK", checks)], Stdio::inherit()))
        .collect::<Result<_>>()?;
    let Ok(mut servers) = <[Server; ENGINES.len() * CHOICES.len()]>::try_from(servers) else {
        unreachable!("one for each engine and choice");
    };
    let mut tables = ENGINES.map(|_| table());
    let mut logarithms = [[0.0; CHOICES.len()]; ENGINES.len()];
    for case in &chosen {
        let seconds = least(&mut servers, case).with_context(|| case.name.to_owned())?;
        let by_engine = seconds.chunks(CHOICES.len());
        for ((table, sums), seconds) in tables.iter_mut().zip(&mut logarithms).zip(by_engine) {
            let mut row = vec![case.name.to_owned(), case.bench[0].to_string(), time(seconds[0])];
            for (sum, of) in sums.iter_mut().zip(seconds) {
                *sum += (of / seconds[0]).ln();
            }
            row.extend(seconds[1..].iter().map(|of| format!("{:.2}", of / seconds[0])));
            table.add_row(row);
        }
    }
    for ((engine, mut table), sums) in ENGINES.iter().zip(tables).zip(logarithms) {
        let means = sums.map(|sum| (sum / chosen.len() as f64).exp());
        let mut row = vec!["geometric mean".to_owned(), String::new(), String::new()];
        row.extend(means[1..].iter().map(|mean| format!("{mean:.2}")));
        table.add_row(row);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        println!(
            "RUMBA_ENGINE={engine}: time of a launch under each RUMBA_CHECK, as multiples of that without checks\n{table}"
        );
    }
    Ok(())
}

/// A table with its header.
fn table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(["case", "n"].into_iter().chain(CHOICES));
    table
}
