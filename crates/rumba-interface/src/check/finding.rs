//! A finding as callers get it: what, who, where. [`super::report`] writes its text.

use std::fmt;

use rumba_checks::{FindingKind, Severity};

use super::report;

/// A mistake of a kernel. Mistakes of one kind at the same instructions are one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The severity.
    pub severity: Severity,
    /// The kind in a few words.
    pub what: String,
    /// Why it is a mistake, in a sentence.
    pub why: String,
    /// Advice.
    pub advice: String,
    /// The kernel, unless it was the host.
    pub kernel: Option<String>,
    /// The threads of the first occurrence: those of the access at which the mistake was noticed, and for a race those
    /// of the earlier access; for a deadlock all groups of threads that wait.
    pub sides: Vec<Side>,
    /// Details of the mistake beyond its kind.
    pub message: Option<String>,
    /// The address of the first byte concerned.
    pub address: Option<u64>,
    /// The object at the address, or the nearest one.
    pub place: Option<String>,
    /// The number of occurrences; for a copy to the host, the number of bytes.
    pub count: u64,
    /// The seed of the run's order of threads, if it had one: a run with the same seed finds the mistake again.
    pub seed: Option<u64>,
}

/// A thread, its action, and the position in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Side {
    /// The block.
    pub block: [u32; 3],
    /// The thread in the block.
    pub thread: [u32; 3],
    /// How many threads of its warp did the same at the same time.
    pub threads: u32,
    /// The action: "write of 4 bytes of shared memory".
    pub action: String,
    /// The position in the source, the innermost inlined function first. Empty if the PTX has no line information.
    pub locations: Vec<Location>,
    /// The name of the PTX.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
    /// The text of the PTX line, if there is no source line to show.
    pub excerpt: Option<String>,
}

/// A place in the language that the PTX was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Location {
    /// The file, as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
    /// The function, if it was inlined into the next location.
    pub function: Option<String>,
}

impl Finding {
    /// The identity of a finding: kind, kernel and lines. Mistakes at two instructions of one line are the same
    /// finding.
    pub fn key(&self) -> String {
        let mut lines = self.lines();
        lines.sort_unstable();
        format!("{:?} {:?} {lines:?}", self.kind, self.kernel)
    }

    /// File and line of each side: of the PTX, if the PTX has no line information.
    pub fn lines(&self) -> Vec<(&str, u32)> {
        self.sides.iter().map(Side::line).collect()
    }
}

impl Side {
    /// File and line: of the PTX, if the PTX has no line information.
    pub fn line(&self) -> (&str, u32) {
        match self.locations.first() {
            Some(location) => (&location.file, location.line),
            None => (&self.ptx, self.ptx_line),
        }
    }

    /// "thread (3, 0, 0) of block (1, 0, 0) and 3 more of its warp".
    pub(crate) fn who(&self) -> String {
        let [x, y, z] = self.thread;
        let [bx, by, bz] = self.block;
        let more = match self.threads.saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more of its warp"),
        };
        format!("thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz}){more}")
    }
}

impl Finding {
    /// A result that is another one in the order of `seed`: that of a copy to the host, from a byte on.
    pub fn of_schedules(kernel: Option<String>, copy: usize, byte: Option<usize>, seed: u64) -> Self {
        let kind = FindingKind::ScheduleDependent;
        let from = byte.map_or_else(String::new, |byte| format!(", from byte {byte} on"));
        Self {
            kind,
            severity: kind.severity(),
            what: kind.name().to_owned(),
            why: kind.why().to_owned(),
            advice: kind.advice().to_owned(),
            kernel,
            sides: Vec::new(),
            message: Some(format!(
                "what the host read is not the same in another order of the threads: copy {} of the run{from}",
                copy + 1
            )),
            address: None,
            place: None,
            count: 1,
            seed: Some(seed),
        }
    }

    /// A panic of a kernel, which the runtime learns of after the launch.
    ///
    /// `place` is file, line and column, `threads` the block and the thread, `count` how many threads panicked.
    pub fn of_panic(
        kernel: Option<&str>,
        message: &str,
        place: (&str, u32, u32),
        threads: [[u32; 3]; 2],
        count: u32,
        seed: Option<u64>,
    ) -> Self {
        let kind = FindingKind::Panic;
        let (file, line, column) = place;
        let location = Location { file: file.to_owned(), line, column, function: None };
        let [block, thread] = threads;
        let side = Side {
            block,
            thread,
            threads: 1,
            action: String::new(),
            locations: vec![location],
            ptx: String::new(),
            ptx_line: 0,
            excerpt: None,
        };
        Self {
            kind,
            severity: kind.severity(),
            what: kind.name().to_owned(),
            why: kind.why().to_owned(),
            advice: kind.advice().to_owned(),
            kernel: kernel.map(str::to_owned),
            sides: vec![side],
            message: Some(message.to_owned()),
            address: None,
            place: None,
            count: u64::from(count),
            seed,
        }
    }

    /// Says in which order of synchronising operations it was found; `replay` runs that order again.
    #[must_use]
    pub fn in_order(self, replay: &str) -> Self {
        let order = format!("in the order RUMBA_CHECK_ORDER={replay}");
        let message = match self.message {
            Some(message) => format!("{message}, {order}"),
            None => order,
        };
        Self { message: Some(message), ..self }
    }

    /// Takes the lines to show where there are none of another source. `line` gives a line of the PTX of that name.
    pub fn with_ptx(mut self, line: impl Fn(&str, u32) -> Option<String>) -> Self {
        for side in self.sides.iter_mut().filter(|side| side.locations.is_empty()) {
            side.excerpt = line(&side.ptx, side.ptx_line);
        }
        self
    }

    /// The report, in colour or not.
    pub fn render(&self, colour: bool) -> String {
        report::render(self, colour)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&report::render(self, false))
    }
}
