//! Parses the output of test programs: how many tests passed, and what the tools found.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::shell;

/// Lines that are shown of a suite with findings.
const SHOWN: usize = 40;

/// The beginning of a tool's report.
const REPORTS: [&str; 8] = [
    "error: Undefined Behavior:",
    "error: unsupported operation:",
    "error: memory leaked:",
    "error: deadlock:",
    "error: abnormal termination:",
    "WARNING: ThreadSanitizer:",
    "ERROR: AddressSanitizer:",
    "ERROR: LeakSanitizer:",
];

/// The state of a suite's run.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) ignored: usize,
    pub(super) filtered: usize,
    pub(super) findings: usize,
    /// The beginnings of reports, or the last lines of a run that failed without one.
    pub(super) excerpt: Vec<String>,
}

impl Counts {
    /// Takes a line of output into account.
    fn see(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            for part in result.split([';', '.']) {
                let mut words = part.split_whitespace();
                let (Some(number), Some(word)) =
                    (words.next().and_then(|word| word.parse::<usize>().ok()), words.next())
                else {
                    continue;
                };
                match word {
                    "passed" => self.passed += number,
                    "failed" => self.failed += number,
                    "ignored" => self.ignored += number,
                    "filtered" => self.filtered += number,
                    _ => {}
                }
            }
        }
        let is_report = REPORTS.iter().any(|report| line.contains(report));
        self.findings += usize::from(is_report);
        let is_failure = line.starts_with("test ") && line.ends_with("FAILED");
        let goes_on = !self.excerpt.is_empty() && self.excerpt.len() < SHOWN;
        if is_report || is_failure || goes_on {
            self.excerpt.push(line.to_owned());
        }
    }

    /// Takes the reports into account that processes wrote into a folder, and appends them to the log.
    pub(super) fn add_reports(&mut self, folder: &Path, log: &Path) -> Result<()> {
        let mut log = File::options().append(true).open(log)?;
        for entry in std::fs::read_dir(folder)? {
            let text = String::from_utf8_lossy(&std::fs::read(entry?.path())?).into_owned();
            log.write_all(text.as_bytes())?;
            text.lines().for_each(|line| self.see(line));
        }
        Ok(())
    }
}

/// Runs a command, writes what it prints to `log`, and calls `progress` with each line. Says whether it succeeded.
pub(super) fn follow(command: &mut Command, log: &Path, progress: impl Fn(&str)) -> Result<(bool, Counts)> {
    let mut file = File::create(log).with_context(|| format!("could not write {}", log.display()))?;
    let name = shell::describe(command);
    writeln!(file, "{name}")?;
    let (reader, writer) = std::io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer).stdin(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("could not start {name}"))?;
    // Its copies of the pipe's end would keep the pipe open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut counts = Counts::default();
    let mut last: Vec<String> = Vec::new();
    for line in BufReader::new(reader).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        writeln!(file, "{line}")?;
        counts.see(&line);
        progress(&line);
        if !line.trim().is_empty() {
            last.push(line);
            last.drain(..last.len().saturating_sub(SHOWN / 2));
        }
    }
    let status = child.wait()?;
    if !status.success() && counts.excerpt.is_empty() {
        counts.excerpt = last;
    }
    Ok((status.success(), counts))
}

#[cfg(test)]
mod tests {
    use super::Counts;

    fn seen(text: &str) -> Counts {
        let mut counts = Counts::default();
        text.lines().for_each(|line| counts.see(line));
        counts
    }

    #[test]
    fn results_of_several_programs_are_added_up() {
        let counts = seen(
            "running 2 tests\ntest a ... ok\n\
             test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.10s\n\
             test result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.0s",
        );
        let numbers = [counts.passed, counts.failed, counts.ignored, counts.filtered, counts.findings];
        assert_eq!(numbers, [6, 1, 1, 3, 0]);
    }

    #[test]
    fn reports_are_counted_and_other_errors_are_not() {
        let counts = seen(
            "error: Undefined Behavior: attempting a write access using <1> at alloc2\n  --> src/lib.rs:1:1\n\
             ==17==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n\
             WARNING: ThreadSanitizer: data race (pid=4)\nerror: test failed, to rerun pass `--lib`\n\
             a test about ThreadSanitizer",
        );
        assert_eq!(counts.findings, 3);
        assert_eq!(counts.excerpt[1], "  --> src/lib.rs:1:1");
    }
}
