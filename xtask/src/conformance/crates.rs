//! Suites of Rust crates: the published source in a work folder, its unit tests one process each, its doctests in one
//! run of cargo. Knows no client.
//!
//! The crate's files stay as the registry has them: what cargo needs beside them is a workspace around them, with a
//! lock file of ours, so that a run today is the run of tomorrow.

use super::suite::{Outcome, Verdict, Worker};
use crate::quiet::run_quietly;
use crate::shell;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long fetching, or building the tests, may take.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// A published crate, and how its tests are built and run.
#[derive(Clone)]
pub(super) struct Crate {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// Arguments of cargo that choose features.
    pub(super) features: &'static [&'static str],
    /// Variables for building and for running.
    pub(super) environment: Vec<(&'static str, PathBuf)>,
    /// The program of the unit tests, once built.
    program: OnceLock<PathBuf>,
    /// The results of the doctests, once run.
    doctests: Arc<Mutex<Option<BTreeMap<String, Outcome>>>>,
}

impl Crate {
    pub(super) fn new(name: &'static str, version: &'static str, features: &'static [&'static str]) -> Self {
        Self { name, version, features, environment: Vec::new(), program: OnceLock::new(), doctests: Arc::default() }
    }

    fn folder(&self) -> Result<PathBuf> {
        super::folder(self.name)
    }

    /// The folder of the crate's own files.
    pub(super) fn source(&self) -> Result<PathBuf> {
        let package = format!("{}-{}", self.name, self.version);
        Ok(self.folder()?.join("workspace").join(package))
    }

    /// The versions of what it depends on, under version control.
    fn lock(&self) -> PathBuf {
        let name = format!("{}.lock", self.name);
        shell::workspace().join("tests/conformance").join(name)
    }

    pub(super) fn is_installed(&self) -> bool {
        // The copy of the lock file is written last.
        let same = |copy: PathBuf| std::fs::read(copy).ok() == std::fs::read(self.lock()).ok();
        self.source().is_ok_and(|source| source.is_dir() && same(source.with_file_name("Cargo.lock")))
    }

    /// Fetches the crate from its registry and copies its files to the work folder.
    pub(super) fn install(&self) -> Result<()> {
        if self.is_installed() {
            return Ok(());
        }
        let source = self.source()?;
        let workspace = source.parent().context("the source lies in a workspace")?;
        if workspace.exists() {
            std::fs::remove_dir_all(workspace).with_context(|| format!("could not remove {}", workspace.display()))?;
        }
        copy(&self.fetch()?, &source)?;
        let package = format!("{}-{}", self.name, self.version);
        let manifest = format!("[workspace]\nresolver = \"2\"\nmembers = [\"{package}\"]\n");
        std::fs::write(workspace.join("Cargo.toml"), manifest)?;
        let lock = self.lock();
        std::fs::copy(&lock, workspace.join("Cargo.lock"))
            .with_context(|| format!("could not copy {}", lock.display()))?;
        Ok(())
    }

    /// Where cargo keeps the crate's files, after a package that depends on it was resolved.
    fn fetch(&self) -> Result<PathBuf> {
        let folder = self.folder()?.join("fetch");
        std::fs::create_dir_all(folder.join("src"))?;
        std::fs::write(folder.join("src/lib.rs"), "")?;
        let (name, version) = (self.name, self.version);
        let manifest = folder.join("Cargo.toml");
        let text = format!(
            "[package]\nname = \"fetch\"\nedition = \"2021\"\n\n[dependencies]\n{name} = \"={version}\"\n\n[workspace]\n"
        );
        std::fs::write(&manifest, text)?;
        let mut fetch = shell::cargo();
        run_quietly(fetch.arg("fetch").arg("--manifest-path").arg(&manifest), "fetching", BUILD_LIMIT)?;
        let mut metadata = shell::cargo();
        metadata.args(["metadata", "--format-version=1", "--offline", "--manifest-path"]);
        let metadata: Metadata = serde_json::from_str(&shell::output(metadata.arg(&manifest))?)?;
        let package = metadata
            .packages
            .into_iter()
            .find(|package| package.name == name && package.version == version)
            .with_context(|| format!("cargo did not fetch {name} {version}"))?;
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?;
        Ok(folder.to_owned())
    }

    fn cargo(&self, arguments: &[&str]) -> Result<Command> {
        let mut cargo = shell::cargo();
        cargo
            .current_dir(self.source()?)
            .args(arguments)
            .args(["--locked", "--target-dir"])
            .arg(super::logs().join(self.name))
            .args(self.features)
            // The author's warnings are not ours to read.
            .env("RUSTFLAGS", "--cap-lints=allow");
        self.surround(&mut cargo);
        Ok(cargo)
    }

    /// Sets what the client finds in its environment.
    fn surround(&self, command: &mut Command) {
        command
            .envs(self.environment.iter().cloned())
            .env("RUMBA_DEVICE", "soft")
            .env("RUST_BACKTRACE", "0")
            .process_group(0);
    }

    /// The program of the unit tests, which is built first.
    fn program(&self) -> Result<&Path> {
        if let Some(program) = self.program.get() {
            return Ok(program);
        }
        let what = ["test", "--lib", "--no-run"];
        run_quietly(&mut self.cargo(&what)?, &format!("building the tests of {}", self.name), BUILD_LIMIT)?;
        let mut again = self.cargo(&what)?;
        let messages = shell::output(again.args(["--quiet", "--message-format=json"]))?;
        let program = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<Message>(line).ok())
            .find_map(|message| message.executable)
            .with_context(|| format!("cargo built no tests of {}", self.name))?;
        Ok(self.program.get_or_init(|| program))
    }

    /// The unit tests, then the doctests.
    pub(super) fn list(&self) -> Result<Vec<String>> {
        let mut unit = Command::new(self.program()?);
        self.surround(unit.arg("--list").current_dir(self.source()?));
        let mut doc = self.cargo(&["test", "--doc", "--quiet"])?;
        let (unit, doc) = (shell::output(&mut unit)?, shell::output(doc.args(["--", "--list"]))?);
        let names = |listed: &str| -> Vec<String> {
            let mut names: Vec<String> =
                listed.lines().filter_map(|line| Some(self.plain(line.strip_suffix(": test")?).to_owned())).collect();
            names.sort();
            names
        };
        Ok([names(&unit), names(&doc)].concat())
    }

    pub(super) fn worker(&self) -> Box<dyn Worker> {
        Box::new(self.clone())
    }

    /// One unit test in a process of its own, also if its author wants it left out of a common one.
    fn unit(&self, test: &str, limit: Duration) -> Result<Outcome> {
        let mut command = Command::new(self.program()?);
        command.current_dir(self.source()?).args([
            "--exact",
            test,
            "--include-ignored",
            "--nocapture",
            "--test-threads=1",
        ]);
        self.surround(&mut command);
        let ended = run_limited(&mut command, limit)?;
        Ok(match ended.status {
            None => Outcome {
                verdict: Verdict::Timeout,
                reason: format!("did not end within {} s", limit.as_secs()),
                detail: ended.said,
            },
            Some(status) if status.success() && ended.said.contains("test result: ok. 1 passed") => pass(),
            Some(status) if status.success() => bail!("no test of {} is called {test}", self.name),
            Some(status) => match status.signal() {
                Some(signal) => Outcome {
                    verdict: Verdict::Crash,
                    reason: format!("the process died of signal {signal}"),
                    detail: ended.said,
                },
                None => fail(&ended.said),
            },
        })
    }

    /// A test's name without what the runner puts around it.
    fn plain<'n>(&self, name: &'n str) -> &'n str {
        let folder = format!("{}-{}/", self.name, self.version);
        let name = name.strip_prefix(&folder).unwrap_or(name);
        [" - compile fail", " - compile", " - should panic"]
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .unwrap_or(name)
    }

    /// Every result in the output of a run of doctests; each failure has a section of its own, under its name.
    fn doctests_of(&self, said: &str) -> BTreeMap<String, Outcome> {
        let mut results = BTreeMap::new();
        for line in said.lines() {
            let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) else {
                continue;
            };
            let outcome = match result.split(',').next().unwrap_or_default() {
                "ok" => pass(),
                "ignored" => Outcome {
                    verdict: Verdict::Skip,
                    reason: "the crate's author marks it as not to be run".to_owned(),
                    detail: String::new(),
                },
                _ => fail(section(said, name)),
            };
            results.insert(self.plain(name).to_owned(), outcome);
        }
        results
    }

    /// A doctest: the first one that is asked for runs all of them.
    fn doctest(&self, test: &str, limit: Duration) -> Result<Outcome> {
        let mut results = self.doctests.lock().unwrap_or_else(PoisonError::into_inner);
        if results.is_none() {
            let ended = run_limited(&mut self.cargo(&["test", "--doc", "--no-fail-fast"])?, limit)?;
            *results = Some(self.doctests_of(&ended.said));
        }
        let outcome = results.as_ref().and_then(|results| results.get(test)).cloned();
        Ok(outcome.unwrap_or_else(|| Outcome {
            verdict: Verdict::Timeout,
            reason: format!("the doctests did not end within {} s", limit.as_secs()),
            detail: String::new(),
        }))
    }
}

/// Whether a name is one of a doctest, which starts with its file.
pub(super) fn is_doctest(test: &str) -> bool {
    test.contains(".rs - ")
}

impl Worker for Crate {
    fn run(&mut self, test: &str, limit: Duration) -> Result<Outcome> {
        if is_doctest(test) { self.doctest(test, limit) } else { self.unit(test, limit) }
    }
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("could not make {}", to.display()))?;
    for entry in std::fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), &target).with_context(|| format!("could not write {}", target.display()))?;
        }
    }
    Ok(())
}

/// How a program ended, with what it printed.
struct Ended {
    /// None where it took too long.
    status: Option<ExitStatus>,
    said: String,
}

/// Runs a program, and ends it and what it started at the limit.
fn run_limited(command: &mut Command, limit: Duration) -> Result<Ended> {
    let (mut reader, writer) = std::io::pipe()?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("could not start {}", shell::describe(command)))?;
    // The command holds the other ends of the pipe.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let said = thread::spawn(move || {
        let mut bytes = Vec::new();
        // After an error, the bytes read so far are used.
        let _ = std::io::Read::read_to_end(&mut reader, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() > limit {
            if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                // It may have ended by itself.
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait()?;
            break None;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let said = said.join().unwrap_or_default();
    Ok(Ended { status, said })
}

fn pass() -> Outcome {
    Outcome { verdict: Verdict::Pass, reason: String::new(), detail: String::new() }
}

/// A failure, with the first sentence that says why.
fn fail(said: &str) -> Outcome {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let reason = lines
        .find_map(|line| {
            if line.contains("' panicked at ") || line.contains("' (") && line.contains(") panicked at ") {
                return Some(None);
            }
            // A test's own words follow its name on the same line.
            let words = line.rsplit_once(" ... ").map_or(line, |(_, words)| words);
            (words.starts_with("Error: ") || words.starts_with("error")).then_some(Some(words))
        })
        .map(|line| line.map(str::to_owned));
    let reason = match reason {
        Some(Some(line)) => line,
        Some(None) => lines.next().unwrap_or_default().to_owned(),
        None => "it failed".to_owned(),
    };
    Outcome { verdict: Verdict::Fail, reason: reason.chars().take(200).collect(), detail: said.to_owned() }
}

/// The output of a failed doctest.
fn section<'s>(said: &'s str, name: &str) -> &'s str {
    let Some((_, rest)) = said.split_once(&format!("---- {name} stdout ----\n")) else {
        return "";
    };
    let end = rest.find("\n---- ").or_else(|| rest.find("\nfailures:\n"));
    rest[..end.unwrap_or(rest.len())].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctests_are_read_from_the_runners_output() {
        let said = "
running 4 tests
test a-1.0.0/src/a.rs - a::one (line 1) ... ok
test src/a.rs - a::two (line 2) - compile fail ... ok
test src/a.rs - a::three (line 3) ... ignored
test src/a.rs - a::four (line 4) ... FAILED
test src/a.rs - a::five (line 5) ... FAILED

failures:

---- src/a.rs - a::four (line 4) stdout ----
error[E0599]: no method
---- src/a.rs - a::five (line 5) stdout ----
Test executable failed (exit status: 101).

stderr:

thread 'main' (7) panicked at src/a.rs:1:2:
attempt to multiply

failures:
    src/a.rs - a::four (line 4)
";
        let results = Crate::new("a", "1.0.0", &[]).doctests_of(said);
        let verdicts: Vec<Verdict> = results.values().map(|outcome| outcome.verdict).collect();
        // In the order of their names: five, four, one, three, two.
        use Verdict::{Fail, Pass, Skip};
        assert_eq!(verdicts, [Fail, Fail, Pass, Skip, Pass]);
        assert_eq!(results["src/a.rs - a::four (line 4)"].reason, "error[E0599]: no method");
        assert_eq!(results["src/a.rs - a::five (line 5)"].reason, "attempt to multiply");
        assert!(results.keys().all(|name| is_doctest(name)));
        assert!(!is_doctest("memory::test::zeroed"));
    }
}
