//! A finding as text, in the style of rustc: title, lines of the source with both sides, notes and help.
//!
//! A report only shows the contents of a [`Finding`]. Sources are shown if they can be read; otherwise the report names
//! the lines.

use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Padding, Renderer, Snippet};

use rumba_checks::{FindingKind, Severity};

use super::finding::{Finding, Location, Side};

/// Groups of threads that a deadlock lists at most.
const MOST_SIDES: usize = 8;

/// The text, without a line break at its end.
pub(crate) fn render(finding: &Finding, colour: bool) -> String {
    let places: Vec<Excerpt> = finding.sides.iter().take(MOST_SIDES).map(Excerpt::of).collect();
    let labels = labels(finding);
    let title = match &finding.kernel {
        Some(kernel) => format!("kernel `{kernel}`: {}", finding.what),
        None => finding.what.clone(),
    };
    let (notes, id, advice) = (notes(finding), finding.kind.id(), &*finding.advice);
    let mut elements: Vec<Element<'_>> = Vec::new();
    let mut shown: Vec<&Excerpt> = Vec::new();
    for place in &places {
        // Sides in one file share an excerpt.
        if shown.iter().any(|other| other.file == place.file && other.text == place.text) {
            continue;
        }
        shown.push(place);
        let Some(text) = &place.text else {
            for (side, _) in here(&places, place) {
                let origin = Origin::path(&*place.file).line(side.line).char_column(side.column.max(1));
                elements.push(origin.into());
            }
            continue;
        };
        let annotations = here(&places, place).map(|(side, index)| {
            let kind = match index {
                0 => AnnotationKind::Primary,
                _ => AnnotationKind::Context,
            };
            kind.span(side.span.clone()).label(&*labels[index])
        });
        let snippet = Snippet::source(&**text).path(&*place.file).line_start(place.first);
        elements.push(snippet.annotations(annotations).into());
    }
    if !elements.is_empty() {
        elements.push(Padding.into());
    }
    elements.extend(notes.iter().map(|note| Element::from(Level::NOTE.message(&**note))));
    if !advice.is_empty() {
        elements.push(Level::HELP.message(advice).into());
    }
    let level = match finding.severity {
        Severity::Info => Level::INFO,
        Severity::Warning => Level::WARNING,
        Severity::Error => Level::ERROR,
    };
    let group = level.primary_title(&*title).id(&*id).elements(elements);
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// The sides at a place's file, with their numbers.
fn here<'a>(places: &'a [Excerpt], place: &'a Excerpt) -> impl Iterator<Item = (&'a Excerpt, usize)> {
    let all = places.iter().enumerate();
    all.filter(|(_, other)| other.file == place.file && other.text == place.text).map(|(index, other)| (other, index))
}

/// The label at the line of each side.
fn labels(finding: &Finding) -> Vec<String> {
    let labels = finding.sides.iter().enumerate().map(|(index, side)| {
        let earlier = if index == 1 && finding.kind.is_of_memory() { "earlier " } else { "" };
        match &*side.action {
            "" => format!("by {}", side.who()),
            action => format!("{earlier}{action} by {}", side.who()),
        }
    });
    labels.collect()
}

/// The notes below the source, from the case at hand to the rule.
fn notes(finding: &Finding) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(finding.message.clone());
    match (finding.address, &finding.place) {
        (Some(address), Some(place)) => notes.push(format!("at {address:#x}: {place}")),
        (None, Some(place)) => notes.push(place.clone()),
        (_, None) => {}
    }
    for side in finding.sides.iter().take(MOST_SIDES) {
        if side.locations.is_empty() && side.ptx_line != 0 {
            let note = format!("the PTX has no line information; this is line {} of {}", side.ptx_line, side.ptx);
            notes.push(note);
        }
        for (inner, outer) in side.locations.iter().zip(side.locations.iter().skip(1)) {
            let function = inner.function.as_deref().unwrap_or("the function");
            notes.push(format!("`{function}` is inlined at {}", at(outer)));
        }
    }
    if finding.sides.len() > MOST_SIDES {
        notes.push(format!("and {} more groups of threads", finding.sides.len() - MOST_SIDES));
    }
    notes.dedup();
    notes.push(finding.why.clone());
    if finding.count > 1 {
        let of = match finding.kind {
            FindingKind::UnwrittenCopy => "bytes",
            _ => "times at these lines",
        };
        notes.push(format!("{} {of}", finding.count));
    }
    notes
}

fn at(location: &Location) -> String {
    match location.column {
        0 => format!("{}:{}", location.file, location.line),
        column => format!("{}:{}:{column}", location.file, location.line),
    }
}

/// The position of a side, with the source if the file can be read.
struct Excerpt {
    file: String,
    line: usize,
    column: usize,
    /// The source file, or its one known line.
    text: Option<String>,
    /// The line that the text begins with.
    first: usize,
    /// The bytes of the text that the report marks.
    span: std::ops::Range<usize>,
}

impl Excerpt {
    fn of(side: &Side) -> Self {
        let (file, line) = side.line();
        let column = side.locations.first().map_or(0, |location| location.column);
        let (text, first) = match (&side.excerpt, side.locations.first()) {
            (Some(line), None) => (Some(line.clone()), side.ptx_line),
            (_, _) => (read(file), 1),
        };
        let span = text.as_deref().and_then(|text| span(text, line.checked_sub(first)?, column));
        Self {
            file: file.to_owned(),
            line: line as usize,
            column: column as usize,
            text: text.filter(|_| span.is_some()),
            first: first as usize,
            span: span.unwrap_or(0..0),
        }
    }
}

/// The text of a source file. A relative name is relative to the workspace, in a folder of which programs mostly run.
fn read(file: &str) -> Option<String> {
    let path = Path::new(file);
    let here: PathBuf = std::env::current_dir().ok()?;
    let mut found = here.ancestors().map(|folder| folder.join(path));
    found.find_map(|path| std::fs::read_to_string(path).ok())
}

/// The bytes of a line (counted from 0) to mark: from the column (from 1, or 0) to the end of the code.
fn span(text: &str, line: u32, column: u32) -> Option<std::ops::Range<usize>> {
    let code = text.split_inclusive('\n').nth(line as usize)?;
    let start = code.as_ptr() as usize - text.as_ptr() as usize;
    let end = code.split("//").next().unwrap_or(code).trim_end();
    let end = end.strip_suffix([';', '{', ',']).unwrap_or(end).trim_end().len();
    let indent = code.len() - code.trim_start().len();
    let from = text.floor_char_boundary(start + (column as usize).saturating_sub(1)) - start;
    let from = if from >= indent && from < end { from } else { indent };
    (from < end).then_some(start + from..start + end)
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn code_is_marked_and_comments_are_not() {
        let text = "fn f() {\n    *x = 1.0; // why\n}\n";
        let marked = |line, column| span(text, line, column).map(|span| &text[span]);
        assert_eq!(marked(1, 0), Some("*x = 1.0"));
        assert_eq!(marked(1, 10), Some("1.0"));
        assert_eq!(marked(1, 99), Some("*x = 1.0"));
        assert_eq!(marked(0, 1), Some("fn f()"));
        assert_eq!(marked(7, 1), None);
    }
}
