//! The polls of a warp: reads of one state by a loop that waits for the state to change.

/// The reads of one state.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Polls {
    /// The number of reads in a row that found the same value.
    row: u32,
    /// The number of rows.
    pub(crate) rows: u64,
    /// The last read: the operations that the warp had executed, and the value.
    last: (u64, u64),
}

impl Polls {
    /// Records a read. It continues the row if it found the same value, at most `near` operations after the last read: more
    /// operations are no loop that only polls.
    pub(crate) fn record(&mut self, executed: u64, value: u64, near: u64) {
        if value == self.last.1 && executed.saturating_sub(self.last.0) <= near {
            self.row = self.row.saturating_add(1);
        } else {
            self.row = 1;
            self.rows += 1;
        }
        self.last = (executed, value);
    }

    /// Whether so many reads in a row were in vain.
    pub(crate) fn is_vain(&self, reads: u32) -> bool {
        self.row >= reads
    }

    /// The number of operations executed since the last read.
    pub(crate) fn since(&self, executed: u64) -> u64 {
        executed.saturating_sub(self.last.0)
    }

    /// The value that the last read found.
    pub(crate) fn found(&self) -> u64 {
        self.last.1
    }
}
