//! Faults of a source, with their positions and advice, and the reports that show them.
//!
//! A [`Diagnostic`] is plain data and serves later stages as well as the parser. A [`Report`] shows
//! it, at length in the style of rustc or in the one line that NVIDIA's assembler prints.

use std::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use crate::ast::Span;
use crate::line_index::{LineIndex, Position};

/// One fault in a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The place at fault.
    pub span: Span,
    /// The fault, in a sentence without capital and full stop.
    pub message: String,
    /// Other places that matter, and why.
    pub notes: Vec<(Span, String)>,
    /// Advice.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A fault without notes and advice.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), notes: Vec::new(), help: None }
    }

    /// Adds another place that matters.
    #[must_use]
    pub fn with_note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.notes.push((span, text.into()));
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// Whether a report carries terminal colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    #[default]
    Never,
    /// ANSI escape sequences.
    Always,
}

/// A source to show diagnostics of.
///
/// ```
/// let source = ".version 8.0\n.target sm_90\n.address_size 46";
/// let faults = rumba_ptx::parse(source).unwrap_err();
/// let report = rumba_ptx::Report::new("kernels.ptx", source);
/// assert_eq!(
///     report.short(&faults[0]),
///     "ptxas kernels.ptx, line 3; error   : an address has 32 or 64 bits, not 46"
/// );
/// ```
pub struct Report<'s> {
    name: &'s str,
    source: &'s str,
    lines: LineIndex,
    colour: Colour,
}

/// How many bytes of the source a report shows before and after a place.
const EXCERPT: usize = 512;

impl<'s> Report<'s> {
    /// Plain reports about `source`, which is called `name`.
    pub fn new(name: &'s str, source: &'s str) -> Self {
        Self { name, source, lines: LineIndex::new(source), colour: Colour::Never }
    }

    /// The same reports in color, or not.
    #[must_use]
    pub fn with_colour(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    /// Line and column of the fault.
    pub fn position(&self, diagnostic: &Diagnostic) -> Position {
        self.lines.position(diagnostic.span.start)
    }

    /// The line that NVIDIA's assembler would print:
    /// `ptxas name, line 7; error   : message`.
    ///
    /// The driver's own log has the name `application ptx input`.
    pub fn short(&self, diagnostic: &Diagnostic) -> String {
        let line = self.lines.line(diagnostic.span.start);
        format!("ptxas {}, line {line}; error   : {}", self.name, diagnostic.message)
    }

    /// The lines of [`Self::short`] for all diagnostics, and the sentence that ends a log of NVIDIA's assembler.
    pub fn short_log(&self, diagnostics: &[Diagnostic]) -> String {
        let mut log = String::new();
        for diagnostic in diagnostics {
            log.push_str(&self.short(diagnostic));
            log.push('\n');
        }
        log.push_str("ptxas fatal   : Ptx assembly aborted due to errors\n");
        log
    }

    /// Message, place, excerpt and help, in the style of rustc. Ends without a line break.
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        let mut group = Level::ERROR.primary_title(diagnostic.message.as_str()).element(self.snippet(
            diagnostic.span,
            AnnotationKind::Primary,
            None,
        ));
        for (span, text) in &diagnostic.notes {
            group = group.element(self.snippet(*span, AnnotationKind::Context, Some(text)));
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = match self.colour {
            Colour::Never => Renderer::plain(),
            Colour::Always => Renderer::styled(),
        };
        renderer.render(&[group])
    }

    /// The texts of [`Self::render`] for all diagnostics, with an empty line between.
    pub fn render_all(&self, diagnostics: &[Diagnostic]) -> String {
        let rendered: Vec<_> = diagnostics.iter().map(|each| self.render(each)).collect();
        rendered.join("\n\n")
    }

    /// The lines around a span, at most [`EXCERPT`] bytes to each side.
    fn snippet<'a>(
        &'a self,
        span: Span,
        kind: AnnotationKind,
        label: Option<&'a String>,
    ) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let start = self.boundary(span.start as usize);
        let end = self.boundary(span.end as usize).max(start).min(start + EXCERPT);
        let before = &self.source[self.boundary(start.saturating_sub(EXCERPT))..start];
        let first = start - before.rfind('\n').map_or(before.len(), |at| before.len() - at - 1);
        let behind = &self.source[self.boundary(end)..self.boundary(end + EXCERPT)];
        let last = self.boundary(end) + behind.find('\n').unwrap_or(behind.len());
        let line = self.lines.line(u32::try_from(first).unwrap_or(u32::MAX));
        Snippet::source(&self.source[first..last])
            .path(self.name)
            .line_start(line as usize)
            .annotation(kind.span(start - first..self.boundary(end) - first).label(label.map(String::as_str)))
    }

    /// The character boundary at or before `at`, within the source.
    fn boundary(&self, at: usize) -> usize {
        self.source.floor_char_boundary(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = ".version 8.0\n\tmov.b32 %r1, é;\n}\n";

    fn fault() -> Diagnostic {
        Diagnostic::new(Span::new(27, 29), "this is odd")
            .with_note(Span::new(31, 32), "because of this")
            .with_help("write something else")
    }

    #[test]
    fn a_report_shows_places_notes_and_help() {
        let report = Report::new("k.ptx", SOURCE);
        assert_eq!(report.position(&fault()), Position { line: 2, column: 15 });
        let expected = "\
error: this is odd
 --> k.ptx:2:15
  |
2 |     mov.b32 %r1, é;
  |                  ^
  |
 ::: k.ptx:3:1
  |
3 | }
  | - because of this
  |
  = help: write something else";
        assert_eq!(report.render(&fault()), expected);
    }

    #[test]
    fn colour_is_on_request() {
        let plain = Report::new("k.ptx", SOURCE).render(&fault());
        let coloured = Report::new("k.ptx", SOURCE).with_colour(Colour::Always).render(&fault());
        assert!(!plain.contains('\x1b'));
        assert!(coloured.contains('\x1b'));
    }

    #[test]
    fn the_log_of_an_assembler() {
        let report = Report::new("application ptx input", SOURCE);
        assert_eq!(
            report.short_log(&[fault()]),
            "ptxas application ptx input, line 2; error   : this is odd\n\
             ptxas fatal   : Ptx assembly aborted due to errors\n"
        );
    }

    #[test]
    fn long_lines_are_shown_in_part() {
        let source = format!("{}é odd {}", "é".repeat(100_000), "x".repeat(1_000_000));
        let at = u32::try_from(source.find("odd").unwrap()).unwrap();
        let report = Report::new("k.ptx", &source);
        let text = report.render(&Diagnostic::new(Span::new(at, at + 3), "odd"));
        assert!(text.len() < 4 * EXCERPT, "{}", text.len());
        assert!(text.contains("é odd x"));
    }

    #[test]
    fn a_span_outside_of_the_source_is_shown_at_its_end() {
        let report = Report::new("k.ptx", "a\n");
        let text = report.render(&Diagnostic::new(Span::new(50, 90), "gone"));
        assert!(text.starts_with("error: gone\n --> k.ptx:2:1"), "{text}");
    }
}
