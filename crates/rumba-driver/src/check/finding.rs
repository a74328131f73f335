//! A finding as callers get it: what, who, where. Its text is made in [`super::report`].

use std::fmt;

use serde::Serialize;

use super::kind::Kind;
use super::report;

/// A mistake of a kernel. Mistakes of one kind at the same instructions are one finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// How bad it is.
    pub severity: Severity,
    /// The kernel, unless it was the host.
    pub kernel: Option<String>,
    /// Who did it, the first time: the access at which it was noticed, and for a race the earlier one; for a deadlock all
    /// groups of threads that wait.
    pub sides: Vec<Side>,
    /// What happened, where there is more to say than the kind.
    pub message: Option<String>,
    /// The first byte that it is about.
    pub address: Option<u64>,
    /// What lies there, or is nearest.
    pub place: Option<String>,
    /// How often it happened; for a copy to the host, bytes.
    pub count: u64,
    /// The order of threads in which it was found, if it had one: the same seed finds it again.
    pub seed: Option<u64>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the program is right nevertheless.
    Info,
    /// It works on today's devices, or where nobody looks at the result, and nothing promises that.
    Warning,
    /// The result is wrong, or left to chance.
    Error,
}

impl From<rumba_vm::Severity> for Severity {
    fn from(severity: rumba_vm::Severity) -> Self {
        match severity {
            rumba_vm::Severity::Info => Self::Info,
            rumba_vm::Severity::Warning => Self::Warning,
            rumba_vm::Severity::Error => Self::Error,
        }
    }
}

/// A thread, and what it did where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Side {
    /// The block.
    pub block: [u32; 3],
    /// The thread in the block.
    pub thread: [u32; 3],
    /// How many threads of its warp did the same at the same time.
    pub threads: u32,
    /// What it did: "write of 4 bytes of shared memory".
    pub action: String,
    /// Where in the source, the innermost inlined function first. Empty if the PTX has no line information.
    pub locations: Vec<Location>,
    /// The name of the PTX.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
    /// That line, where the source has no other lines to show.
    #[serde(skip)]
    pub(crate) excerpt: Option<String>,
}

/// A place in the language that the PTX was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
    /// What tells it from others: kind, kernel and lines. Two instructions of a line are the same mistake.
    pub fn key(&self) -> String {
        let mut lines = self.lines();
        lines.sort_unstable();
        format!("{:?} {:?} {lines:?}", self.kind, self.kernel)
    }

    /// File and line of each side: of the PTX, where it says no more.
    pub fn lines(&self) -> Vec<(&str, u32)> {
        self.sides.iter().map(Side::line).collect()
    }
}

impl Side {
    /// File and line: of the PTX, where it says no more.
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
    pub(crate) fn of_schedules(kernel: Option<String>, copy: usize, byte: Option<usize>, seed: u64) -> Self {
        let from = byte.map_or_else(String::new, |byte| format!(", from byte {byte} on"));
        Self {
            kind: Kind::ScheduleDependent,
            severity: Severity::Warning,
            kernel,
            sides: Vec::new(),
            message: Some(format!(
                "what the host read is not the same in the order of another seed: copy {} of the run{from}",
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
        let (file, line, column) = place;
        let location = Location {
            file: file.to_owned(),
            line,
            column,
            function: None,
        };
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
            kind: Kind::Panic,
            severity: Severity::Error,
            kernel: kernel.map(str::to_owned),
            sides: vec![side],
            message: Some(message.to_owned()),
            address: None,
            place: None,
            count: u64::from(count),
            seed,
        }
    }

    /// Takes the lines to show where there are none of another source. `line` gives a line of the PTX of that name.
    pub(crate) fn with_ptx(mut self, line: impl Fn(&str, u32) -> Option<String>) -> Self {
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

impl From<&rumba_vm::Location> for Location {
    fn from(location: &rumba_vm::Location) -> Self {
        Self {
            file: location.file.clone(),
            line: location.line,
            column: location.column,
            function: location.function.clone(),
        }
    }
}

/// Each as ours.
fn locations(all: &[rumba_vm::Location]) -> Vec<Location> {
    all.iter().map(Location::from).collect()
}

impl Finding {
    /// What the machine found in a launch that went on.
    pub(crate) fn of_finding(found: &rumba_vm::Finding) -> Self {
        let side = |side: &rumba_vm::Side| Side {
            block: side.block,
            thread: side.thread,
            threads: side.threads,
            action: side.what.clone(),
            locations: locations(&side.locations),
            ptx: side.ptx.clone(),
            ptx_line: side.ptx_line,
            excerpt: None,
        };
        Self {
            kind: found.kind.into(),
            severity: found.severity.into(),
            kernel: found.kernel.clone(),
            sides: found.sides.iter().map(side).collect(),
            message: None,
            address: found.address,
            place: Some(found.place.clone()),
            count: found.count,
            seed: found.seed,
        }
    }

    /// What ended a launch.
    pub(crate) fn of_fault(fault: &rumba_vm::Fault) -> Self {
        let mut sides: Vec<Side> = fault
            .live
            .iter()
            .map(|live| Side {
                block: live.block,
                thread: live.thread,
                threads: 1,
                action: match live.count {
                    1 => live.state.clone(),
                    count => format!("{} ({count} threads)", live.state),
                },
                locations: live.location.iter().map(Location::from).collect(),
                ptx: live.ptx.clone(),
                ptx_line: live.ptx_line,
                excerpt: None,
            })
            .collect();
        if sides.is_empty() {
            sides.push(Side {
                block: fault.block,
                thread: fault.thread,
                threads: 1,
                action: fault.access.as_ref().map(ToString::to_string).unwrap_or_default(),
                locations: locations(&fault.locations),
                ptx: fault.ptx.clone(),
                ptx_line: fault.ptx_line,
                excerpt: None,
            });
        }
        Self {
            kind: fault.kind.into(),
            severity: Severity::Error,
            kernel: Some(fault.kernel.clone()),
            sides,
            message: fault.access.is_none().then(|| fault.message.clone()),
            address: fault.address,
            place: fault.place.clone(),
            count: 1,
            seed: fault.seed,
        }
    }
}
