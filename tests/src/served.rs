//! Processes that measure launches of cases, one for each setting of the environment: a process reads its variables once.
//!
//! They take turns, case by case and run by run, so that what else the machine does disturbs all the same.

use crate::{Case, PTX, Prepared, cases};
use anyhow::{Context, Result, bail};
use rumba::{Device, Module};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the runs of one case may take, unless the least number of them takes longer.
const BUDGET: Duration = Duration::from_secs(2);
/// The least and the largest number of runs of a case.
const RUNS: std::ops::Range<u32> = 2..100;

/// Asks a program to measure what it is told to on standard input, by [`serve`].
pub const SERVE: &str = "--serve";

/// Least seconds of a launch of a case by each server.
///
/// # Errors
/// If one of them gives up.
pub fn least<const N: usize>(servers: &mut [Server; N], case: &Case) -> Result<[f64; N]> {
    let mut least = [f64::INFINITY; N];
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
#[derive(Debug)]
pub struct Server {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Server {
    /// This program with [`SERVE`] and these variables. Its messages go to `errors`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(variables: &[(&str, &str)], errors: Stdio) -> Result<Self> {
        let program = std::env::current_exe().context("the program's own path")?;
        let mut child = Command::new(&program)
            .arg(SERVE)
            .env("RUMBA_DEVICE", "soft")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("a process without standard input and output");
        };
        Ok(Self { child, questions, answers: BufReader::new(answers) })
    }

    /// Seconds that one launch of a case takes, after one that does not count if the case is a new one.
    ///
    /// # Errors
    /// If the process gives up.
    pub fn ask(&mut self, case: &Case) -> Result<f64> {
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
///
/// # Errors
/// If a case fails.
pub fn serve() -> Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let mut current: Option<(String, Box<dyn Prepared>)> = None;
    for line in std::io::stdin().lines() {
        let name = line?;
        let prepared = match &mut current {
            Some((known, prepared)) if *known == name => prepared,
            _ => {
                // Releases the memory of the last case first.
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
