//! The report of each kind of finding, from the corpus, in tests/ui/reports.txt.
//!
//! `UPDATE_EXPECT=1 cargo test -p rumba-tests --test it reports` writes the file anew. Read what you bless: would you know what to
//! do? Addresses differ from run to run and appear as `0x…`; PTX lines, from compiler to compiler, are those of kernels in PTX.

use std::collections::BTreeMap;

use expect_test::expect_file;
use rumba::{Checks, Error};
use rumba_tests::ui::cases;

use crate::common::hide_addresses;

#[test]
fn a_report_of_each_kind() {
    let mut reports = BTreeMap::new();
    for case in cases().expect("the corpus can be read") {
        let is_new = |kind: &String| !reports.contains_key(kind);
        let mut certain = case.expected.iter().filter(|expected| !expected.optional);
        if case.is_missed
            || case.is_by_chance
            || case.check == "port"
            || !certain.any(|expected| is_new(&expected.kind))
        {
            continue;
        }
        let found = Checks::default().run(|gpu| {
            let launched = case.ptx().and_then(|ptx| case.launch(gpu, &ptx));
            launched.map_err(|error| error.downcast::<Error>().expect("a corpus that can be launched"))
        });
        for finding in found.expect("the software device is always there") {
            let text = hide_addresses(&finding.to_string());
            reports.entry(finding.kind.id()).or_insert(text);
        }
    }
    let reports: Vec<String> = reports.into_values().collect();
    expect_file!["../../ui/reports.txt"].assert_eq(&(reports.join("\n\n") + "\n"));
}
