//! The output of a conformance run: a table by groups of tests, and every difference from the list.

use super::expected::Surprise;
use super::runner::count;
use super::suite::{Record, Suite, Verdict};
use comfy_table::{Cell, CellAlignment, Table, presets};
use std::collections::BTreeMap;
use std::time::Duration;

/// One row per group, one column per verdict that occurs.
pub(super) fn table(suite: &dyn Suite, records: &[Record]) -> Table {
    let mut groups: BTreeMap<&str, Vec<Record>> = BTreeMap::new();
    for record in records {
        groups.entry(suite.group(&record.test)).or_default().push(record.clone());
    }
    let verdicts: Vec<Verdict> =
        Verdict::ALL.into_iter().filter(|&verdict| verdict == Verdict::Pass || count(records, verdict) > 0).collect();
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    let words = verdicts.iter().map(|verdict| verdict.word());
    table.set_header(["tests", "run"].into_iter().chain(words).chain(["time"]));
    for (group, records) in &groups {
        table.add_row(row(group, records, &verdicts));
    }
    if groups.len() > 1 {
        table.add_row(row("all", records, &verdicts));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(name: &str, records: &[Record], verdicts: &[Verdict]) -> Vec<Cell> {
    let counts = verdicts.iter().map(|&verdict| match count(records, verdict) {
        0 => String::new(),
        count => count.to_string(),
    });
    let time: Duration = records.iter().map(|record| record.time).sum();
    [name.to_owned(), records.len().to_string()]
        .into_iter()
        .chain(counts)
        .chain([format!("{:.1} s", time.as_secs_f64())])
        .map(Cell::new)
        .collect()
}

/// A difference, in a line.
pub(super) fn line(surprise: &Surprise) -> String {
    match surprise {
        Surprise::NewFailure { test, actual, reason } => {
            format!("new {:<8} {test}: {reason}", actual.word())
        }
        Surprise::NewPass { test, listed } => format!("new pass     {test}: listed as {}", listed.word()),
        Surprise::Changed { test, listed, actual, reason } => {
            format!("changed      {test}: {} instead of {}: {reason}", actual.word(), listed.word())
        }
        Surprise::Gone { test } => format!("gone         {test}: listed, but there is no such test"),
    }
}

/// The failures with all that is known of them, for a file or a screen.
pub(super) fn details(records: &[Record]) -> String {
    records
        .iter()
        .filter(|record| record.outcome.verdict.is_failure())
        .map(|record| {
            let verdict = record.outcome.verdict.word();
            format!("=== {verdict} {}\n{}\n\n", record.test, record.outcome.detail.trim_end())
        })
        .collect()
}
