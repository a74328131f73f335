//! The programs that a warp runs while its lanes are converged, and the back-off from entries that did not pay.

use crate::machine::program::{Lockstep, Native};

/// The state of a warp's entries into native code and into the program for lanes in lockstep.
#[derive(Debug)]
pub(crate) struct Tier {
    /// The program to run while all lanes are in lockstep, if there is one.
    pub(crate) lockstep: *const Lockstep,
    /// The native code of the program, if there is some.
    pub(crate) native: *const Native,
    /// One more than the entry at which native code resumes behind a barrier, if the register file holds only the first lanes of
    /// uniform and affine registers; otherwise 0.
    pub(crate) resume_at: u32,
    pub(crate) back_off: BackOff,
    /// The number of operations that the warp had executed when it last entered the lockstep program.
    pub(crate) in_lockstep_since: u64,
    /// Whether the values that differ from block to block exist as bases only.
    pub(crate) lacks_of_block: bool,
}

impl Tier {
    /// The interpreter alone.
    pub(crate) const NONE: Self = Self {
        lockstep: std::ptr::null(),
        native: std::ptr::null(),
        resume_at: 0,
        back_off: BackOff { failures: 0, skips: 0 },
        in_lockstep_since: 0,
        lacks_of_block: false,
    };
}

/// The exponential back-off of entries.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BackOff {
    /// The number of entries in a row that did not pay.
    failures: u32,
    /// The number of entries to skip.
    skips: u32,
}

impl BackOff {
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
