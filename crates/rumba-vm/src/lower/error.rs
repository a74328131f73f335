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
    /// The operand at fault, if it is one of them.
    pub(crate) span: Option<Span>,
    /// What to do about it.
    pub(crate) help: Option<String>,
}

impl LowerError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, help: None }
    }

    /// The same with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same about a place.
    #[must_use]
    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// The same as a diagnostic, which stands at `span` if nothing closer is known.
    pub(crate) fn into_diagnostic(self, span: Span) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.span.unwrap_or(span), self.message);
        match self.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}
