//! Sources of PTX, and why a module of them cannot be loaded.

use rumba_ptx::{Diagnostic, Report};
use thiserror::Error;

use crate::lower::symbols::Located;
use crate::mem::allocations::MemoryError;

/// A PTX source.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name of the source in reports.
    pub name: &'a str,
    /// The text.
    pub ptx: &'a str,
}

/// The errors of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceErrors {
    /// The source.
    pub name: String,
    /// The faults.
    pub diagnostics: Vec<Diagnostic>,
    /// The faults at length, with excerpts.
    pub report: String,
    /// The faults as NVIDIA's assembler would print them.
    pub short: String,
    /// Line and column of the first fault.
    pub position: (u32, u32),
}

/// Why a module cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// A source is wrong.
    #[error("{}", .0.iter().map(|errors| errors.report.as_str()).collect::<Vec<_>>().join("\n\n"))]
    Source(Vec<SourceErrors>),
    /// There is no room for the module's variables.
    #[error("no room for the variable `{name}`: {error}")]
    Memory {
        /// The variable.
        name: String,
        /// The cause.
        error: MemoryError,
    },
}

impl LoadError {
    /// The faults as NVIDIA's assembler would print them.
    pub fn short(&self) -> String {
        match self {
            Self::Source(list) => list.iter().map(|errors| errors.short.as_str()).collect(),
            Self::Memory { .. } => format!("{self}\n"),
        }
    }

    pub(crate) fn new(sources: &[Source<'_>], errors: Vec<Located>) -> Self {
        let mut list = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let mut own: Vec<Diagnostic> =
                errors.iter().filter(|(at, _)| *at == index).map(|(_, error)| error.clone()).collect();
            own.sort_by_key(|error| error.span.start);
            own.dedup_by(|a, b| a.span.start == b.span.start && a.message == b.message);
            let Some(first) = own.first() else { continue };
            let report = Report::new(source.name, source.ptx);
            let position = report.position(first);
            list.push(SourceErrors {
                name: source.name.to_owned(),
                report: own.iter().map(|error| report.render(error)).collect::<Vec<_>>().join("\n\n"),
                short: report.short_log(&own),
                position: (position.line, position.column),
                diagnostics: own,
            });
        }
        Self::Source(list)
    }
}
