//! Running a program whose output matters only if it fails: a spinner meanwhile, a limit on its time.

use std::io::{IsTerminal, Read};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};

use crate::shell;

/// Runs a command, showing that it runs and for how long; its output appears only if it fails.
///
/// # Errors
/// If the command does not start, fails, or runs longer than the limit.
pub fn run_quietly(command: &mut Command, what: &str, limit: Duration) -> Result<()> {
    let _shown = Spinner::new(format!("{what}: {}", shell::describe(command)));
    run_limited(command, limit)
}

/// A line that says what runs, and on a terminal for how long, until the value is dropped.
pub(crate) struct Spinner(ProgressBar);

impl Spinner {
    pub(crate) fn new(line: String) -> Self {
        if !std::io::stderr().is_terminal() {
            eprintln!("{line}");
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})").expect("the template is constant");
        let bar = ProgressBar::new_spinner().with_style(style).with_message(line);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn run_limited(command: &mut Command, limit: Duration) -> Result<()> {
    let name = shell::describe(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {name}"))?;
    let readers = [child.stdout.take().map(drain), child.stderr.take().map(drain)];
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("{name} was stopped after {} seconds", limit.as_secs());
        }
        thread::sleep(Duration::from_millis(50));
    };
    if status.success() {
        return Ok(());
    }
    let said: Vec<String> = readers.into_iter().flatten().filter_map(|reader| reader.join().ok()).collect();
    let said = said.join("");
    let last: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = last.get(last.len().saturating_sub(8)..).unwrap_or_default();
    bail!("{name} failed ({status}):\n    {}", last.join("\n    "))
}

/// Reads a stream to its end, so that the program behind it is never held up.
fn drain(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
