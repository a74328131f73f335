//! Chooses the fastest of several kernels: measured at the first question, and kept in a file for each device.
//!
//! The caller chooses the candidates and the question: a question is a line of text, an answer a word.

use crate::base::warning::{Warning, warn};
use crate::devices::device::Device;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How [`Linalg`](super::Linalg) chooses among kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tuning {
    /// On a GPU, by measurement when a shape is new, which takes some runs of each kernel that may be the fastest and waits for them.
    /// Results are kept in `RUMBA_CACHE`, or else in the user's folder for caches. While a graph is captured, and on the software device, as with `Heuristic`.
    #[default]
    Measure,
    /// Chooses by the shape alone, without earlier measurements.
    Heuristic,
}

/// The answers that are known.
#[derive(Debug)]
pub(super) struct Tuner {
    /// The first line of the file: what its answers are true for.
    title: String,
    /// None if the file has no folder.
    path: Option<PathBuf>,
    /// None until the file is read.
    known: Mutex<Option<HashMap<String, String>>>,
}

/// Runs of a candidate at most, and how long all of them take at most.
const RUNS: u32 = 8;
const LONG: Duration = Duration::from_millis(60);

impl Tuner {
    /// The tuner of a device. Nothing is read yet.
    pub(super) fn new(device: &Device) -> Tuner {
        let (major, minor) = device.limits().compute_capability;
        let driver = crate::cuda::version().unwrap_or_default();
        let title = format!(
            "rumba {} linalg, {}, compute capability {major}.{minor}, driver {}.{}",
            env!("CARGO_PKG_VERSION"),
            device.name(),
            driver.0,
            driver.1
        );
        Tuner::in_folder(rumba_driver::cache_folder().map(|folder| folder.join("linalg")), title)
    }

    fn in_folder(folder: Option<PathBuf>, title: String) -> Tuner {
        // The name of a device is part of the file's, less what files are not called.
        let name: String = title.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
        Tuner { path: folder.map(|folder| folder.join(format!("{name}.txt"))), title, known: Mutex::default() }
    }

    /// The answer that was measured before, if it is one of these.
    pub(super) fn known(&self, question: &str, candidates: &[&'static str]) -> Option<&'static str> {
        let mut known = self.known.lock();
        let known = known.get_or_insert_with(|| self.read());
        let answer = known.get(question)?;
        candidates.iter().copied().find(|candidate| candidate == answer)
    }

    /// Measures each candidate by the time of one run, and keeps the fastest. Failing candidates are ignored.
    pub(super) fn measure(
        &self,
        question: &str,
        candidates: &[&'static str],
        mut run: impl FnMut(&'static str) -> Option<Duration>,
    ) -> Option<&'static str> {
        let mut best: Option<(Duration, &'static str)> = None;
        for &candidate in candidates {
            // The first run loads the kernel.
            let Some(first) = run(candidate) else { continue };
            let mut time = first;
            let limit = best.map_or(LONG, |(best, _)| LONG.min(best * 4 * RUNS));
            let mut all = first;
            for _ in 0..RUNS {
                if all > limit {
                    break;
                }
                let Some(next) = run(candidate) else { break };
                (time, all) = (time.min(next), all + next);
            }
            if best.is_none_or(|(best, _)| time < best) {
                best = Some((time, candidate));
            }
        }
        let (_, answer) = best?;
        self.keep(question, answer);
        Some(answer)
    }

    /// Records an answer, also in the file. Keeps the answers of other processes.
    fn keep(&self, question: &str, answer: &'static str) {
        let mut known = self.known.lock();
        let known = known.get_or_insert_with(HashMap::new);
        known.insert(question.to_owned(), answer.to_owned());
        let Some(path) = &self.path else { return };
        for (question, answer) in self.read() {
            known.entry(question).or_insert(answer);
        }
        if let Err(error) = self.write(path, known) {
            self.unusable(path, format!("it cannot be written: {error}"));
        }
    }

    /// Replaces the file as a whole: who reads it sees the old one or the new one.
    fn write(&self, path: &Path, known: &HashMap<String, String>) -> io::Result<()> {
        let mut lines: Vec<String> =
            known.iter().map(|(question, answer)| format!("{question} = {answer}\n")).collect();
        lines.sort_unstable();
        let mut text = format!("{}\n{}", self.title, lines.concat());
        let sum = checksum(&text);
        let _ = writeln!(text, "sum {sum:016x}");
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let unfinished = path.with_extension(format!("{}.unfinished", std::process::id()));
        std::fs::write(&unfinished, text)?;
        std::fs::rename(&unfinished, path)
    }

    /// Reads the answers in the file. A damaged file has none.
    fn read(&self) -> HashMap<String, String> {
        let Some(path) = &self.path else { return HashMap::new() };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return HashMap::new(),
            Err(error) => {
                self.unusable(path, format!("it cannot be read: {error}"));
                return HashMap::new();
            }
        };
        parse(&text, &self.title).unwrap_or_else(|problem| {
            self.unusable(path, problem.to_owned());
            HashMap::new()
        })
    }

    fn unusable(&self, path: &Path, problem: String) {
        warn(&Warning::TuningFile { path: path.to_owned(), problem });
    }
}

/// The questions and answers of a file with this title.
fn parse(text: &str, title: &str) -> Result<HashMap<String, String>, &'static str> {
    let damaged = "it is damaged";
    let rest = text.trim_end_matches('\n');
    let (body, sum) = rest.rsplit_once('\n').ok_or(damaged)?;
    let body = format!("{body}\n");
    let sum = sum.strip_prefix("sum ").and_then(|sum| u64::from_str_radix(sum, 16).ok()).ok_or(damaged)?;
    if sum != checksum(&body) {
        return Err(damaged);
    }
    let mut lines = body.lines();
    if lines.next() != Some(title) {
        return Err("it is of another device or version");
    }
    let pairs =
        lines.map(|line| line.split_once(" = ").map(|(question, answer)| (question.to_owned(), answer.to_owned())));
    pairs.collect::<Option<_>>().ok_or(damaged)
}

/// FNV-1a, which notices what is cut off or changed by accident.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{Tuner, parse};
    use std::path::Path;
    use std::time::Duration;

    const NAMES: [&str; 3] = ["slow", "fast", "failing"];

    fn tuner(folder: &Path, title: &str) -> Tuner {
        Tuner::in_folder(Some(folder.to_owned()), title.to_owned())
    }

    fn ask(tuner: &Tuner, question: &str) -> Option<&'static str> {
        tuner.measure(question, &NAMES, |name| match name {
            "slow" => Some(Duration::from_micros(20)),
            "fast" => Some(Duration::from_micros(10)),
            _ => None,
        })
    }

    #[test]
    fn the_fastest_is_kept_for_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let first = tuner(folder.path(), "a device");
        assert_eq!(first.known("small", &NAMES), None);
        assert_eq!(ask(&first, "small"), Some("fast"));
        // Two processes add to one file.
        let second = tuner(folder.path(), "a device");
        assert_eq!(ask(&second, "large"), Some("fast"));
        assert_eq!(ask(&first, "other"), Some("fast"));
        let third = tuner(folder.path(), "a device");
        for question in ["small", "large", "other"] {
            assert_eq!(third.known(question, &NAMES), Some("fast"));
        }
        // A former answer that is no candidate any more is ignored.
        assert_eq!(third.known("small", &["slow"]), None);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no unfinished file stays");
    }

    #[test]
    fn long_runs_are_few() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = 0;
        tuner(folder.path(), "a device").measure("long", &["one"], |_| {
            runs += 1;
            Some(Duration::from_secs(1))
        });
        assert_eq!(runs, 1);
    }

    #[test]
    fn damaged_and_foreign_files_say_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let tuner = tuner(folder.path(), "a device");
        ask(&tuner, "small");
        let path = tuner.path.clone().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(parse(&text, "a device").is_ok());
        assert!(parse(&text, "another device").is_err());
        for damaged in [
            String::new(),
            "a".to_owned(),
            text.replace("fast", "slow"),
            text[..text.len() / 2].to_owned(),
            text.replace("sum ", "sum x"),
        ] {
            assert!(parse(&damaged, "a device").is_err(), "{damaged}");
            std::fs::write(&path, &damaged).unwrap();
            let after = Tuner::in_folder(Some(folder.path().to_owned()), "a device".to_owned());
            assert_eq!(after.known("small", &NAMES), None);
            // It is replaced by the next answer.
            assert_eq!(ask(&after, "small"), Some("fast"));
        }
        // A folder that cannot be: a warning, and the answer all the same.
        let nowhere = Tuner::in_folder(Some(path.join("file")), "a device".to_owned());
        assert_eq!(ask(&nowhere, "small"), Some("fast"));
        assert_eq!(nowhere.known("small", &NAMES), Some("fast"));
    }
}
