//! The exponential back-off of a warp from entries into native code that did not pay.

/// The back-off of a warp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BackOff {
    /// The number of entries in a row that did not pay.
    failures: u32,
    /// The number of entries to skip.
    skips: u32,
}

impl BackOff {
    /// No entry was tried.
    pub(crate) const NONE: Self = Self { failures: 0, skips: 0 };

    /// Whether to skip an entry.
    pub(crate) fn skips(&mut self) -> bool {
        let skips = self.skips > 0;
        self.skips -= u32::from(skips);
        skips
    }

    /// Records an exit. After the n-th entry in a row that did not pay, 2ⁿ - 1 entries are skipped; beyond `most` the number does not
    /// grow.
    pub(crate) fn record(&mut self, has_paid: bool, most: u32) {
        self.failures = if has_paid { 0 } else { (self.failures + 1).min(most) };
        self.skips = (1 << self.failures) - 1;
    }
}
