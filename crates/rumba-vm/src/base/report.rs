//! The vocabulary of faults and findings: accesses, and positions in the sources.

use std::fmt;

/// The kind of a memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write.
    Atomic,
}

/// A memory access.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Access {
    /// Its kind.
    pub kind: AccessKind,
    /// How many bytes.
    pub bytes: u32,
    /// In which state space: `global`, `shared`, `local`, `const`, `param`, `tensor`, or nothing for generic addresses.
    pub space: &'static str,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic operation on",
        };
        let of = if self.kind == AccessKind::Atomic { "" } else { "of " };
        let space = if self.space.is_empty() { String::new() } else { format!("{} ", self.space) };
        write!(f, "{kind} {of}{} bytes of {space}memory", self.bytes)
    }
}

/// A place in the language that the PTX was made from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Location {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if it is not known.
    pub column: u32,
    /// The function, if it was inlined into the next location.
    pub function: Option<String>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column != 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

pub(crate) fn triple([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}
