//! The lists of expected results, `tests/conformance/<client>.txt`: every test that does not pass, with a reason.
//! A run is compared with its list in both directions, so that the list stays true.

use super::suite::{Record, Verdict};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The entry of a test that does not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) verdict: Verdict,
    pub(super) reason: String,
}

/// The tests that do not pass, read from a list. All other tests should pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// The comment lines at the top, kept by [`Expected::write`].
    heading: Vec<String>,
    entries: BTreeMap<String, Entry>,
}

/// A result that differs from the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Surprise {
    NewFailure {
        test: String,
        actual: Verdict,
        reason: String,
    },
    NewPass {
        test: String,
        listed: Verdict,
    },
    Changed {
        test: String,
        listed: Verdict,
        actual: Verdict,
        reason: String,
    },
    /// Listed, but the suite has no such test.
    Gone {
        test: String,
    },
}

impl Expected {
    pub(super) fn read(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("in {}", path.display()))
    }

    /// One line each: verdict, test, `:`, reason; a name may have colons but no `: `.
    fn parse(text: &str) -> Result<Self> {
        let mut list = Self::default();
        for (number, line) in text.lines().enumerate() {
            if line.starts_with('#') {
                list.heading.push(line.to_owned());
                continue;
            }
            if line.trim().is_empty() {
                continue;
            }
            let Some((verdict, test, reason)) = line.split_once(' ').and_then(|(verdict, rest)| {
                let (test, reason) = rest.split_once(": ").unwrap_or((rest, ""));
                Some((Verdict::from_word(verdict)?, test.trim(), reason.trim()))
            }) else {
                bail!("line {}: expected `verdict test: reason`, found `{line}`", number + 1);
            };
            if verdict == Verdict::Pass {
                bail!("line {}: a test that passes is not listed", number + 1);
            }
            let reason = reason.to_owned();
            if list.entries.insert(test.to_owned(), Entry { verdict, reason }).is_some() {
                bail!("line {}: `{test}` is listed twice", number + 1);
            }
        }
        Ok(list)
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        std::fs::write(path, self.text()).with_context(|| format!("could not write {}", path.display()))
    }

    fn text(&self) -> String {
        let mut text: String = self.heading.iter().map(|line| format!("{line}\n")).collect();
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(test, entry)| (std::cmp::Reverse(entry.verdict), *test));
        for (test, entry) in entries {
            text.push_str(&format!("{} {test}", entry.verdict.word()));
            if !entry.reason.is_empty() {
                text.push_str(&format!(": {}", entry.reason));
            }
            text.push('\n');
        }
        text
    }

    /// How the records differ from the list. `all` are the suite's tests, run or not.
    pub(super) fn compare(&self, records: &[Record], all: &[String]) -> Vec<Surprise> {
        let known: BTreeSet<&str> = all.iter().map(String::as_str).collect();
        let gone = self.entries.keys().filter(|test| !known.contains(test.as_str()));
        let gone = gone.map(|test| Surprise::Gone { test: test.clone() });
        records.iter().filter_map(|record| self.judge(record)).chain(gone).collect()
    }

    fn judge(&self, record: &Record) -> Option<Surprise> {
        let test = record.test.clone();
        let actual = record.outcome.verdict;
        let reason = record.outcome.reason.clone();
        match (self.entries.get(&test).map(|entry| entry.verdict), actual) {
            (None, Verdict::Pass) | (Some(Verdict::Varies), _) => None,
            (None, actual) => Some(Surprise::NewFailure { test, actual, reason }),
            (Some(listed), Verdict::Pass) => Some(Surprise::NewPass { test, listed }),
            (Some(listed), actual) if listed == actual => None,
            (Some(listed), actual) => Some(Surprise::Changed { test, listed, actual, reason }),
        }
    }

    /// Takes over what the records say. A reason that was written by hand stays while the verdict stays.
    pub(super) fn bless(&mut self, records: &[Record], all: &[String]) {
        let known: BTreeSet<&str> = all.iter().map(String::as_str).collect();
        self.entries.retain(|test, _| known.contains(test.as_str()));
        for record in records {
            let verdict = record.outcome.verdict;
            match self.entries.get(&record.test) {
                Some(entry) if entry.verdict == Verdict::Varies => {}
                _ if verdict == Verdict::Pass => {
                    self.entries.remove(&record.test);
                }
                Some(entry) if entry.verdict == verdict => {}
                _ => {
                    let reason = record.outcome.reason.clone();
                    self.entries.insert(record.test.clone(), Entry { verdict, reason });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::suite::Outcome;
    use super::*;
    use std::time::Duration;

    const LIST: &str = "# Heading.\nfail a.b::c: not yet\nskip a.d: no GPU: none\nskip a.z\n";

    fn record(test: &str, verdict: Verdict) -> Record {
        Record {
            test: test.to_owned(),
            outcome: Outcome { verdict, reason: "why".to_owned(), detail: String::new() },
            time: Duration::ZERO,
        }
    }

    fn names(tests: &[&str]) -> Vec<String> {
        tests.iter().map(|&test| test.to_owned()).collect()
    }

    #[test]
    fn a_list_reads_as_it_was_written() {
        let list = Expected::parse(LIST).unwrap();
        assert_eq!(list.entries["a.d"].reason, "no GPU: none");
        assert_eq!(list.text(), LIST);
    }

    #[test]
    fn bad_lines_are_named() {
        let error = |text: &str| Expected::parse(text).unwrap_err().to_string();
        assert_eq!(error("broken a: b"), "line 1: expected `verdict test: reason`, found `broken a: b`");
        assert_eq!(error("\npass a"), "line 2: a test that passes is not listed");
        assert_eq!(error("skip a\nfail a: b"), "line 2: `a` is listed twice");
    }

    #[test]
    fn both_directions_surprise() {
        let list = Expected::parse(LIST).unwrap();
        let records = [
            record("a.b::c", Verdict::Pass),
            record("a.d", Verdict::Skip),
            record("a.e", Verdict::Crash),
            record("a.f", Verdict::Pass),
        ];
        assert_eq!(
            list.compare(&records, &names(&["a.b::c", "a.e", "a.f", "a.z"])),
            [
                Surprise::NewPass { test: "a.b::c".to_owned(), listed: Verdict::Fail },
                Surprise::NewFailure { test: "a.e".to_owned(), actual: Verdict::Crash, reason: "why".to_owned() },
                Surprise::Gone { test: "a.d".to_owned() },
            ]
        );
    }

    #[test]
    fn what_varies_is_accepted_and_stays() {
        let text = "varies a.b: measures the host\n";
        let mut list = Expected::parse(text).unwrap();
        for verdict in [Verdict::Pass, Verdict::Fail] {
            let records = [record("a.b", verdict)];
            assert_eq!(list.compare(&records, &names(&["a.b"])), []);
            list.bless(&records, &names(&["a.b"]));
            assert_eq!(list.text(), text);
        }
    }

    #[test]
    fn blessing_takes_over_and_keeps_reasons() {
        let mut list = Expected::parse(LIST).unwrap();
        let records = [record("a.b::c", Verdict::Fail), record("a.e", Verdict::Timeout)];
        list.bless(&records, &names(&["a.b::c", "a.e"]));
        assert_eq!(list.text(), "# Heading.\ntimeout a.e: why\nfail a.b::c: not yet\n");
        assert_eq!(list.compare(&records, &names(&["a.b::c", "a.e"])), []);
    }
}
