//! What the checks of the software device cost: every case under each of them, against the same case without any,
//! everything measured in this one run. `cargo xtask bench --checks` builds and runs it.
//!
//! A process decides once what it checks, so there is one for each choice; they take turns, case by case and run by run,
//! and the least time of each counts. Results are not compared here: the tests do that.

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use rumba::{Device, Module};
use rumba_tests::figures::time;
use rumba_tests::{Case, PTX, Prepared, cases};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What `RUMBA_CHECK` is in each column; the first one is what the others are compared with.
const CHOICES: [&str; 6] = ["none", "mem", "mem,sync", "mem,init", "mem,race", "all"];

/// How long the runs of one case may take, unless the least number of them takes longer.
const BUDGET: Duration = Duration::from_secs(2);
/// The least and the largest number of runs of a case.
const RUNS: std::ops::Range<u32> = 2..100;

/// Asks this program to measure what it is told to on standard input.
const SERVE: &str = "--serve";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == SERVE) {
        return serve();
    }
    let chosen = cases::chosen(&words)?;
    let mut servers = CHOICES
        .iter()
        .map(|checks| Server::start(checks))
        .collect::<Result<Vec<_>>>()?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(["case", "n"].into_iter().chain(CHOICES));
    let mut logarithms = [0.0; CHOICES.len()];
    for case in &chosen {
        let seconds = measure(&mut servers, case).with_context(|| case.name.to_owned())?;
        let mut row = vec![case.name.to_owned(), case.bench[0].to_string(), time(seconds[0])];
        for (sum, seconds_of) in logarithms.iter_mut().zip(seconds) {
            *sum += (seconds_of / seconds[0]).ln();
        }
        row.extend(seconds[1..].iter().map(|of| format!("{:.2}", of / seconds[0])));
        table.add_row(row);
    }
    let means = logarithms.map(|sum| (sum / chosen.len() as f64).exp());
    let mut row = vec!["geometric mean".to_owned(), String::new(), String::new()];
    row.extend(means[1..].iter().map(|mean| format!("{mean:.2}")));
    table.add_row(row);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("time of a launch under each RUMBA_CHECK, as multiples of that without checks\n{table}");
    Ok(())
}

/// Least seconds of a case under each choice.
fn measure(servers: &mut [Server], case: &Case) -> Result<[f64; CHOICES.len()]> {
    let mut least = [f64::INFINITY; CHOICES.len()];
    let started = Instant::now();
    for run in 0..RUNS.end {
        if run >= RUNS.start && started.elapsed() > BUDGET {
            break;
        }
        for (server, least) in servers.iter_mut().zip(&mut least) {
            *least = least.min(server.ask(case)?);
        }
    }
    Ok(least)
}

/// A process that measures.
struct Server {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    fn start(checks: &str) -> Result<Self> {
        let program = std::env::current_exe().context("the program's own path")?;
        let mut child = Command::new(&program)
            .arg(SERVE)
            .env("RUMBA_DEVICE", "soft")
            .env("RUMBA_CHECK", checks)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("a process without standard input and output");
        };
        Ok(Self {
            child,
            questions,
            answers: BufReader::new(answers),
        })
    }

    /// Seconds that one launch of a case takes, after one that does not count if the case is a new one.
    fn ask(&mut self, case: &Case) -> Result<f64> {
        writeln!(self.questions, "{}", case.name)?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        line.trim().parse().context("the measuring process gave up")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; its status does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures one launch for each line of standard input, which is the name of a case.
fn serve() -> Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let mut current: Option<(String, Box<dyn Prepared>)> = None;
    for line in std::io::stdin().lines() {
        let name = line?;
        let prepared = match &mut current {
            Some((known, prepared)) if *known == name => prepared,
            _ => {
                // What the last case holds is given back first.
                current = None;
                let prepared = prepare(&device, &module, &name)?;
                &mut current.insert((name, prepared)).1
            }
        };
        let start = device.record()?;
        prepared.launch()?;
        let end = device.record()?;
        end.synchronize()?;
        println!("{}", end.since(&start)?.as_secs_f64());
    }
    Ok(())
}

fn prepare(device: &Device, module: &Module, name: &str) -> Result<Box<dyn Prepared>> {
    let case = cases::ALL.iter().find(|case| case.name == name);
    let case = case.context("there is no such case")?;
    let mut prepared = (case.prepare)(device, module, case.bench[0])?;
    prepared.launch()?;
    device.synchronize()?;
    Ok(prepared)
}
