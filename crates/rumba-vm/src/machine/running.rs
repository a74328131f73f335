//! Progress reports of long launches, so that an endless kernel is not silent. The receiver decides what to do with a
//! report.

use std::time::Duration;

/// A launch that has run for some time.
#[derive(Debug, Clone, Copy)]
pub struct Running<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// The blocks of the grid.
    pub blocks: u64,
    /// The blocks that have ended.
    pub ended: u64,
    /// How long the launch has run.
    pub elapsed: Duration,
    /// How long it may run.
    pub time_limit: Option<Duration>,
}

/// The receiver of the reports.
pub(crate) struct LongLaunches {
    /// How long a launch runs before its first report.
    pub(crate) after: Duration,
    pub(crate) tell: Box<dyn Fn(&Running<'_>) + Send + Sync>,
}
