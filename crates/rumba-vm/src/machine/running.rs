//! What a launch that takes long tells of itself, so that an endless kernel is not silent. Who is told decides what is done with it.

use std::time::Duration;

/// A launch that has run for some time.
#[derive(Debug, Clone, Copy)]
pub struct Running<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// The blocks of the grid.
    pub blocks: u64,
    /// Those that have ended.
    pub ended: u64,
    /// How long the launch has run.
    pub elapsed: Duration,
    /// How long it may run.
    pub time_limit: Option<Duration>,
}

/// Who is told.
pub(crate) struct LongLaunches {
    /// How long a launch runs before it tells of itself first.
    pub(crate) after: Duration,
    pub(crate) tell: Box<dyn Fn(&Running<'_>) + Send + Sync>,
}
