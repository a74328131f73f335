//! The machine's coverage of PTX, held to figures: a form that is lost shows, and so does one that is gained.

use std::collections::BTreeMap;

use rumba_vm::coverage::{self, LISTS, Verdict};
use rumba_vm::{Config, Device};

/// How many forms of a family are still missing. The figures must shrink.
const GAPS: &[(&str, usize)] = &[];

#[test]
fn every_form_in_scope_is_covered_but_the_known_gaps() {
    let config = Config {
        memory_bytes: 64 << 20,
        workers: 1,
        ..Config::default()
    };
    let device = Device::new(config).unwrap();
    let mut missing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for list in LISTS {
        for form in list.forms() {
            if let Verdict::Missing { instruction, reason } = coverage::check(&device, &form) {
                let line = format!("{form} of {}: `{instruction}`: {reason}", list.name);
                missing
                    .entry(coverage::family(&form).to_owned())
                    .or_default()
                    .push(line);
            }
        }
    }
    let mut wrong = Vec::new();
    for (family, known) in GAPS {
        let now = missing.get(*family).map_or(0, Vec::len);
        if now < *known {
            wrong.push(format!(
                "of `{family}` {now} forms are missing instead of {known}: lower the figure in GAPS"
            ));
        }
    }
    for (family, lines) in &missing {
        let known = GAPS
            .iter()
            .find(|(gap, _)| gap == family)
            .map_or(0, |(_, known)| *known);
        if lines.len() > known {
            wrong.push(format!(
                "of `{family}` {} forms are missing:\n{}",
                lines.len(),
                lines.join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements, each after the verdict of NVIDIA's assembler (ptxas 13.5, the best of sm_90a, sm_100a, sm_103a, sm_120a):
/// generated ones, and those with a modifier or an operand dropped, added or replaced. Before `!` stand those of which
/// the machine thinks differently.
const VERDICTS: &str = include_str!("ptxas.txt");

#[test]
fn the_machine_accepts_and_refuses_what_nvidias_assembler_does() {
    let config = Config {
        memory_bytes: 64 << 20,
        workers: 1,
        ..Config::default()
    };
    let device = Device::new(config).unwrap();
    let mut wrong = Vec::new();
    for line in VERDICTS.lines() {
        let (verdict, statement) = line.split_once(' ').unwrap();
        let accepted = coverage::accepts(&device, statement);
        let expected = verdict.starts_with('+') != verdict.ends_with('!');
        if accepted.is_ok() != expected {
            wrong.push(format!("{line}: {accepted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(VERDICTS.lines().count() >= 1000);
}

#[test]
fn the_lists_are_whole() {
    let counts = LISTS.map(|list| (list.name, list.forms().len()));
    assert_eq!(
        counts,
        [("llvm", 2624), ("nvcc", 350), ("numba", 393), ("manual", 3683)]
    );
}
