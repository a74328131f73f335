//! Differences between the interpreter and native code, and their reports.

use std::fmt;

use crate::base::report::triple;
use crate::machine::fault::Fault;

/// The first thing in which the two runs of a compared launch differ.
#[derive(Debug)]
pub(crate) enum Difference {
    /// The contents of memory differ.
    Memory {
        address: u64,
        interpreted: Left,
        compiled: Left,
        /// Where the address lies, seen from the nearest allocation.
        place: String,
    },
    /// How they ended: with a fault, or without.
    End { interpreted: Option<Box<Fault>>, compiled: Option<Box<Fault>> },
    /// The allocations of kernels differ.
    Allocations { interpreted: usize, compiled: usize },
    /// The printed texts differ.
    Text { interpreted: String, compiled: String },
    /// The findings differ.
    Findings { interpreted: Vec<String>, compiled: Vec<String> },
}

/// The bytes that a run left at a place in memory.
#[derive(Debug)]
pub(crate) struct Left {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    /// The last writer of the bytes: a block, and a thread or a warp of it.
    pub(crate) by: Option<([u32; 3], Storer)>,
}

/// The thread or warp that stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Storer {
    Thread([u32; 3]),
    /// A thread of this warp.
    Warp(u32),
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        for byte in self.bytes.iter().rev() {
            write!(f, "{byte:02x}")?;
        }
        match self.by {
            None => f.write_str(", unchanged"),
            Some((block, Storer::Thread(thread))) => {
                write!(f, ", stored by block {}, thread {}", triple(block), triple(thread))
            }
            Some((block, Storer::Warp(warp))) => write!(f, ", stored by block {}, warp {warp}", triple(block)),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { address, interpreted, compiled, place } => {
                let count = interpreted.bytes.len();
                let unit = if count == 1 { "byte" } else { "bytes" };
                write!(f, "{count} {unit} of memory at {address:#x} differ: {place}")?;
                write!(f, "\n  the interpreter left {interpreted}")?;
                write!(f, "\n  the compiled code left {compiled}")
            }
            Self::End { interpreted, compiled } => {
                let end = |fault: &Option<Box<Fault>>| match fault {
                    None => "came to its end".to_owned(),
                    Some(fault) => format!("ended with a fault: {}", fault.to_string().replace('\n', "\n  ")),
                };
                write!(f, "the runs end in different ways")?;
                write!(f, "\n  the interpreter {}", end(interpreted))?;
                write!(f, "\n  the compiled code {}", end(compiled))
            }
            Self::Allocations { interpreted, compiled } => write!(
                f,
                "the interpreter leaves {interpreted} allocations and the compiled code {compiled}, which are not the same"
            ),
            Self::Text { interpreted, compiled } => {
                write!(f, "the interpreter prints {interpreted:?} where the compiled code prints {compiled:?}")
            }
            Self::Findings { interpreted, compiled } => {
                write!(f, "the checks find something else")?;
                write!(f, "\n  in the interpreter: {}", interpreted.join("; "))?;
                write!(f, "\n  in the compiled code: {}", compiled.join("; "))
            }
        }
    }
}

/// The first line in which two texts differ.
pub(crate) fn first_line(interpreted: &[u8], compiled: &[u8]) -> Difference {
    let lines = |text: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(text).split_inclusive('\n').map(str::to_owned).collect()
    };
    let (one, other) = (lines(interpreted), lines(compiled));
    let at = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
    Difference::Text { interpreted: line(&one), compiled: line(&other) }
}
