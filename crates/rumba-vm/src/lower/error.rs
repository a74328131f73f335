//! Why an instruction cannot be executed.

use rumba_ptx::Diagnostic;
use rumba_ptx::ast::Span;
use thiserror::Error;

/// Why an instruction cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct LowerError {
    /// A sentence that names the cause.
    pub message: String,
    /// The operand at fault, if an operand is.
    pub(crate) span: Option<Span>,
    /// Advice.
    pub(crate) help: Option<String>,
}

impl LowerError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, help: None }
    }

    /// This error with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// This error at a place in the source.
    #[must_use]
    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// This error as a diagnostic, at `span` if the error has no place of its own.
    pub(crate) fn into_diagnostic(self, span: Span) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.span.unwrap_or(span), self.message);
        match self.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}
