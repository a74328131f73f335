//! What the checks report besides faults: mistakes that let the kernel go on.

use std::fmt;

use crate::fault::{Access, Location, triple};

/// What kind of mistake was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum FindingKind {
    /// Two threads access the same memory, one of them writes, and nothing orders the accesses.
    DataRace,
    /// The same, of atomic operations whose scopes do not reach each other.
    ScopedRace,
    /// A kernel reads memory that nobody has written.
    UnwrittenRead,
    /// The host copies device memory that nobody has written; the count is that of bytes.
    UnwrittenCopy,
}

impl FindingKind {
    /// The kind in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::DataRace => "data race",
            Self::ScopedRace => "race of atomic operations by scope",
            Self::UnwrittenRead => "read of uninitialised memory",
            Self::UnwrittenCopy => "copy of uninitialised memory to the host",
        }
    }

    /// Why it is a mistake.
    pub fn why(self) -> &'static str {
        match self {
            Self::DataRace => {
                "no barrier, `bar.warp.sync` or release and acquire orders these accesses, so either may come first"
            }
            Self::ScopedRace => "an atomic operation of scope `.cta` is atomic for the threads of its own block only",
            Self::UnwrittenRead => {
                "neither the host nor a kernel has written there since the memory was allocated or the block began, so it \
                 may hold anything"
            }
            Self::UnwrittenCopy => "neither the host nor a kernel has written there since the memory was allocated",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One of the accesses that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Side {
    /// The block.
    pub block: [u32; 3],
    /// The thread in the block.
    pub thread: [u32; 3],
    /// What it did.
    pub access: Access,
    /// Where, the innermost inlined function first.
    pub locations: Vec<Location>,
    /// The name of the PTX source.
    pub ptx: String,
    /// The line of the PTX.
    pub ptx_line: u32,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (block, thread) = (triple(self.block), triple(self.thread));
        write!(f, "{} by thread {thread} of block {block}", self.access)?;
        match self.locations.first() {
            Some(location) => write!(f, "\n    at {location}")?,
            None => write!(
                f,
                "\n    at {}:{} (PTX without line information)",
                self.ptx, self.ptx_line
            )?,
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
    /// The kernel, unless it was the host.
    pub kernel: Option<String>,
    /// The accesses, the first time: the one at which it was noticed, and for a race the earlier one.
    pub sides: Vec<Side>,
    /// The first byte that it is about.
    pub address: u64,
    /// What lies there.
    pub place: String,
    /// How often it happened.
    pub count: u64,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " in kernel `{kernel}`")?;
        }
        writeln!(f, ": {}", self.place)?;
        for (index, side) in self.sides.iter().enumerate() {
            let earlier = if index > 0 { "and earlier " } else { "" };
            writeln!(f, "  {earlier}{side}")?;
        }
        write!(f, "  {}", self.kind.why())?;
        let of = if self.kind == FindingKind::UnwrittenCopy {
            "bytes"
        } else {
            "times"
        };
        if self.count > 1 {
            write!(f, "; {} {of}", self.count)?;
        }
        Ok(())
    }
}
