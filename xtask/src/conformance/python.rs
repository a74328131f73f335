//! Suites of Python's unittest: a virtual environment, and a process that runs tests by name (`run_tests.py`).
//! Knows no client.

use super::suite::{Driver, Outcome, Suite, Verdict, Worker};
use crate::quiet::run_quietly;
use crate::shell;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The program that runs tests.
fn program() -> PathBuf {
    shell::workspace().join("xtask/src/conformance/run_tests.py")
}

/// MiB of memory of the device. Tests of Numba allocate half of it and look at each byte: the machine's memory shall not decide how long
/// that takes. They need 2 GiB.
pub(super) const MEMORY: (&str, &str) = ("RUMBA_MEMORY", "4096");

/// How long the registry may take.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// A virtual environment with packages of exact versions.
pub(super) struct Environment {
    folder: PathBuf,
    packages: &'static [&'static str],
}

impl Environment {
    pub(super) fn new(folder: PathBuf, packages: &'static [&'static str]) -> Self {
        Self { folder, packages }
    }

    pub(super) fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// Written last, with what was installed: an environment without it is a broken one, one with another an old one.
    fn stamp(&self) -> PathBuf {
        self.folder.join("installed.txt")
    }

    pub(super) fn is_installed(&self) -> bool {
        std::fs::read_to_string(self.stamp()).is_ok_and(|installed| installed == self.packages.join("\n"))
    }

    /// Creates the environment unless it exists.
    pub(super) fn install(&self) -> Result<()> {
        if self.is_installed() {
            return Ok(());
        }
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)
                .with_context(|| format!("could not remove {}", self.folder.display()))?;
        }
        let mut venv = Command::new("python3");
        run_quietly(venv.args(["-m", "venv"]).arg(&self.folder), "making a virtual environment", INSTALL_LIMIT)
            .context("it needs Python 3 with the module venv (apt-get install python3-venv)")?;
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
            .args(["--only-binary=:all:", "--retries=1", "--timeout=20"])
            .args(self.packages);
        run_quietly(&mut pip, "installing", INSTALL_LIMIT)?;
        std::fs::write(self.stamp(), self.packages.join("\n"))?;
        Ok(())
    }

    /// The folder that packages are installed in.
    pub(super) fn site_packages(&self) -> Result<PathBuf> {
        let mut python = Command::new(self.python());
        python.args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
        Ok(PathBuf::from(shell::output(&mut python)?.trim()))
    }
}

/// A client of which everything is installed from the registry.
#[derive(Clone, Copy)]
pub(super) struct Client {
    pub(super) name: &'static str,
    /// The client itself is the first.
    pub(super) packages: &'static [&'static str],
    /// The package or the module that has its tests.
    pub(super) tests: &'static str,
    /// Adds further variables to its environment.
    pub(super) prepare: fn(&mut Command),
    pub(super) group: for<'t> fn(&'t str) -> &'t str,
    pub(super) slice: &'static [&'static str],
}

impl Client {
    fn environment(&self) -> Result<Environment> {
        Ok(Environment::new(super::folder(self.name)?.join("venv"), self.packages))
    }

    fn interpreter(&self, driver: &Driver) -> Result<Command> {
        let mut python = Command::new(self.environment()?.python());
        python
            .current_dir(super::folder(self.name)?)
            .env("LD_LIBRARY_PATH", &driver.folder)
            .env("RUMBA_DEVICE", "soft")
            .env(MEMORY.0, MEMORY.1)
            .env("PYTHONDONTWRITEBYTECODE", "1");
        (self.prepare)(&mut python);
        Ok(python)
    }
}

impl Suite for Client {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> String {
        format!("{} ({})", self.name, self.packages[0])
    }

    fn is_installed(&self) -> bool {
        self.environment().is_ok_and(|environment| environment.is_installed())
    }

    fn install(&self) -> Result<()> {
        self.environment()?.install()
    }

    fn list(&self, driver: &Driver) -> Result<Vec<String>> {
        list(self.interpreter(driver)?, self.tests)
    }

    fn worker(&self, driver: &Driver) -> Result<Box<dyn Worker>> {
        let client = *self;
        let interpreter = move |driver: &Driver| client.interpreter(driver);
        Ok(Box::new(Process::new(self.name, driver, interpreter)))
    }

    fn group<'t>(&self, test: &'t str) -> &'t str {
        (self.group)(test)
    }

    fn slice(&self) -> &'static [&'static str] {
        self.slice
    }
}

/// Every test of a package.
pub(super) fn list(python: Command, package: &str) -> Result<Vec<String>> {
    let mut python = python;
    let names = shell::output(python.arg(program()).args(["--list", package]))?;
    Ok(names.lines().map(str::to_owned).collect())
}

/// The folder of a package that a test is in.
pub(super) fn folder_of<'t>(test: &'t str, package: &str) -> &'t str {
    let name = test.strip_prefix(package).unwrap_or(test);
    name.trim_start_matches('.').split('.').next().unwrap_or(test)
}

/// A process of `run_tests.py`, replaced when it dies, hangs, or has seen a failure: what a failed test leaves behind
/// shall not fail others.
pub(super) struct Process {
    start: Box<dyn Fn() -> Result<Command>>,
    /// Where the tests' own output goes.
    log: PathBuf,
    running: Option<Running>,
}

struct Running {
    child: Child,
    questions: ChildStdin,
    answers: Receiver<String>,
}

#[derive(Deserialize)]
struct Answer {
    verdict: String,
    reason: String,
    detail: String,
}

impl Process {
    /// For a client's tests; `interpreter` is Python with its environment variables.
    pub(super) fn new(
        client: &str,
        driver: &Driver,
        interpreter: impl Fn(&Driver) -> Result<Command> + 'static,
    ) -> Self {
        static PROCESSES: AtomicUsize = AtomicUsize::new(0);
        let number = PROCESSES.fetch_add(1, Ordering::Relaxed);
        let driver = driver.clone();
        Self {
            start: Box::new(move || interpreter(&driver)),
            log: super::logs().join(format!("{client}-{number}.log")),
            running: None,
        }
    }

    fn start(&mut self) -> Result<Running> {
        let log = std::fs::File::create(&self.log).with_context(|| format!("could not make {}", self.log.display()))?;
        let mut child = (self.start)()?
            .arg(program())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .context("could not start the interpreter")?;
        let questions = child.stdin.take().context("the interpreter has no input")?;
        let output = child.stdout.take().context("the interpreter has no output")?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Running { child, questions, answers })
    }

    /// The end of what the process printed.
    fn said(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    fn outcome(&self, verdict: Verdict, reason: String) -> Outcome {
        let detail = self.said();
        Outcome { verdict, reason, detail }
    }
}

impl Worker for Process {
    fn run(&mut self, test: &str, limit: Duration) -> Result<Outcome> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        // A process that is gone cannot read: its end shows below, as the end of its answers.
        let _ = writeln!(running.questions, "{test}");
        let outcome = match running.answers.recv_timeout(limit) {
            Ok(line) => {
                let Answer { verdict, reason, detail } =
                    serde_json::from_str(&line).with_context(|| format!("{test}: answered `{line}`"))?;
                let Some(verdict) = Verdict::from_word(&verdict) else {
                    bail!("{test}: unknown verdict `{verdict}`");
                };
                Outcome { verdict, reason, detail }
            }
            Err(RecvTimeoutError::Timeout) => {
                let reason = format!("did not end within {} s", limit.as_secs());
                self.outcome(Verdict::Timeout, reason)
            }
            Err(RecvTimeoutError::Disconnected) => {
                let reason = ending(running.child.wait()?);
                self.outcome(Verdict::Crash, reason)
            }
        };
        if outcome.verdict.is_failure() {
            running.end();
        } else {
            self.running = Some(running);
        }
        Ok(outcome)
    }
}

impl Running {
    /// Ends the process and what it started.
    fn end(mut self) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.end();
        }
    }
}

fn ending(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("the process died of signal {signal}"),
        None => format!("the process ended ({status})"),
    }
}

/// Makes a folder of symbolic links to files, from their names under it to where they lie.
pub(super) fn lay_out(folder: &Path, files: &[(&str, PathBuf)]) -> Result<()> {
    for (name, file) in files {
        if !file.exists() {
            bail!("{} is missing", file.display());
        }
        let at = folder.join(name);
        if let Some(parent) = at.parent() {
            std::fs::create_dir_all(parent).with_context(|| format!("could not make {}", parent.display()))?;
        }
        super::link(file, &at)?;
    }
    Ok(())
}
