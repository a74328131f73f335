//! The interface of a client's test suite to the runner: names of tests, and workers that run one test at a time.
//! How a client is installed and started is in the client's own file.

use anyhow::Result;
use std::time::Duration;

/// The test-suite of one unmodified program that uses `libcuda.so.1`.
pub(crate) trait Suite: Sync {
    /// The client as it is called on the command line; its list is `tests/conformance/<name>.txt`.
    fn name(&self) -> &'static str;

    /// The client's name and version, for headings.
    fn about(&self) -> String;

    /// Whether [`Suite::install`] would have nothing to do.
    fn is_installed(&self) -> bool;

    /// Installs the client from its registry into a folder of the project's own. Running it again changes nothing.
    fn install(&self) -> Result<()>;

    /// Every test's name, in the order in which they should run.
    fn list(&self, driver: &Driver) -> Result<Vec<String>>;

    /// A process, or what starts processes, to run tests in. Each of the runner's threads has one of its own.
    fn worker(&self, driver: &Driver) -> Result<Box<dyn Worker>>;

    /// The row of the summary that a test belongs to.
    fn group<'t>(&self, test: &'t str) -> &'t str;

    /// Whether tests measure time, so that by default they run one by one.
    fn alone(&self) -> bool {
        false
    }

    /// A few tests, of every kind, that take some seconds in all.
    fn slice(&self) -> &'static [&'static str];
}

/// Where the driver lies that the clients load.
#[derive(Clone)]
pub(crate) struct Driver {
    /// A folder for LD_LIBRARY_PATH that has `libcuda.so` and `libcuda.so.1`.
    pub(crate) folder: std::path::PathBuf,
}

/// Runs tests one after another.
pub(crate) trait Worker {
    /// Runs one test. A crash or a hang costs this test only: the next call starts a new process.
    ///
    /// # Errors
    ///
    /// If the test could not be run at all; a test that fails is an [`Outcome`].
    fn run(&mut self, test: &str, limit: Duration) -> Result<Outcome>;
}

/// The outcome of a test.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    /// One line: why it was skipped, the error, the signal. Empty for a test that passed.
    pub(crate) reason: String,
    /// All that is known about a failure.
    pub(crate) detail: String,
}

/// The kinds of outcomes, as the lists spell them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Pass,
    /// Not run by the suite's own decision.
    Skip,
    /// Failed, as the suite itself expects.
    XFail,
    Fail,
    /// The process ended before the test did.
    Crash,
    /// The test did not end within its limit.
    Timeout,
    /// Only in lists: the test measures what differs from run to run, and any outcome is as expected.
    Varies,
}

impl Verdict {
    pub(crate) const ALL: [Self; 7] =
        [Self::Pass, Self::Skip, Self::XFail, Self::Fail, Self::Crash, Self::Timeout, Self::Varies];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Skip => "skip",
            Self::XFail => "xfail",
            Self::Fail => "fail",
            Self::Crash => "crash",
            Self::Timeout => "timeout",
            Self::Varies => "varies",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.word() == word)
    }

    /// Whether the device is to blame, as far as the verdict tells.
    pub(crate) fn is_failure(self) -> bool {
        matches!(self, Self::Fail | Self::Crash | Self::Timeout)
    }
}

/// A test and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) test: String,
    pub(crate) outcome: Outcome,
    pub(crate) time: Duration,
}
