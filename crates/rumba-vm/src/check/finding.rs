//! Findings: mistakes after which the kernel continues, which the checks report besides faults.

use std::fmt;

use rumba_checks::{FindingKind, Severity};

use crate::base::report::{Access, Location, triple};

/// An action of a thread that a finding describes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Side {
    /// The block.
    pub block: [u32; 3],
    /// The thread in the block.
    pub thread: [u32; 3],
    /// How many threads of its warp did the same at the same time.
    pub threads: u32,
    /// The action, in words.
    pub what: String,
    /// The launch of the thread, if the sides of the finding belong to several launches.
    pub launch: Option<SideLaunch>,
    /// The memory access, if the action is one.
    pub access: Option<Access>,
    /// The source locations, the innermost inlined function first.
    pub locations: Vec<Location>,
    /// The name of the PTX source.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
}

/// The launch that a side of a finding belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SideLaunch {
    /// The kernel.
    pub kernel: String,
    /// The ordinal of the device, if the launches belong to several devices.
    pub device: Option<u32>,
    /// Whether it is another launch of the kernel, on the same device, than the one that has noticed the mistake.
    pub is_another: bool,
}

impl SideLaunch {
    /// The launch in words, with this name for the kernel.
    pub fn words(&self, kernel: &str) -> String {
        let what = if self.is_another { "another launch of kernel" } else { "kernel" };
        match self.device {
            Some(device) => format!("in {what} `{kernel}` on device {device}"),
            None => format!("in {what} `{kernel}`"),
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (block, thread) = (triple(self.block), triple(self.thread));
        write!(f, "{}", self.what)?;
        if let Some(launch) = &self.launch {
            write!(f, " {}", launch.words(&launch.kernel))?;
        }
        write!(f, " by thread {thread} of block {block}")?;
        if self.threads > 1 {
            write!(f, " and {} more of its warp", self.threads - 1)?;
        }
        match self.locations.first() {
            Some(location) => write!(f, "\n    at {location}")?,
            None => write!(f, "\n    at {}:{} (PTX without line information)", self.ptx, self.ptx_line)?,
        }
        for location in self.locations.iter().skip(1) {
            write!(f, "\n    inlined at {location}")?;
        }
        Ok(())
    }
}

/// A mistake of a kernel that did not end it. Mistakes at the same instructions are one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The severity: information alone should not fail a run.
    pub severity: Severity,
    /// The kernel, unless it was the host.
    pub kernel: Option<String>,
    /// The actions of the first occurrence: the action at which the mistake was noticed, then the one that it collides
    /// with, if any.
    pub sides: Vec<Side>,
    /// The first byte concerned, if the mistake is about memory.
    pub address: Option<u64>,
    /// The object at the address, or the details of the mistake.
    pub place: String,
    /// The number of occurrences.
    pub count: u64,
    /// The seed of the run, if it had one.
    pub seed: Option<u64>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.severity, self.kind)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " in kernel `{kernel}`")?;
        }
        writeln!(f, ": {}", self.place)?;
        for (index, side) in self.sides.iter().enumerate() {
            let before = match index {
                0 => "",
                _ if self.kind.is_of_memory() => "and earlier ",
                _ => "and ",
            };
            writeln!(f, "  {before}{side}")?;
        }
        write!(f, "  {}", self.kind.why())?;
        let of = if self.kind == FindingKind::UnwrittenCopy { "bytes" } else { "times" };
        if self.count > 1 {
            write!(f, "; {} {of}", self.count)?;
        }
        write!(f, "\n  help: {}", self.kind.advice())?;
        if let Some(seed) = self.seed {
            write!(f, "\n  in the schedule of seed {seed}")?;
        }
        Ok(())
    }
}
