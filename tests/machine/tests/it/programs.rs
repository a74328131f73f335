//! Programs made by chance: they have all that they may have, are defined, and engines agree about them.

use std::collections::BTreeSet;

use machine::{Agreement, Choices, Engines, features, program};

/// Seeds of which the programs have all features together.
const ALL: u64 = 3000;

#[test]
fn programs_have_all_features() {
    let mut missing: BTreeSet<&str> = features().collect();
    for seed in 1..=ALL {
        for feature in program(Choices::of_seed(seed)).features {
            missing.remove(feature);
        }
    }
    assert!(missing.is_empty(), "in {ALL} programs there is none with {missing:#?}");
}

#[test]
fn a_program_follows_from_its_choices() {
    for seed in 1..20 {
        let (once, again) = (program(Choices::of_seed(seed)), program(Choices::of_seed(seed)));
        assert_eq!(once.case, again.case);
    }
    // Any bytes make a program.
    for bytes in [&[][..], &[255; 10], &[7; 10_000]] {
        let case = program(Choices::of_bytes(bytes)).case;
        Engines::interpreters().compare(&case).unwrap_or_else(|error| panic!("{error}\n{case}"));
    }
}

#[test]
fn programs_are_defined() {
    // If several lanes store to one word at a time, one store wins: the last on every engine. A thread that exits does
    // not arrive at the barriers of other threads, which wait for its exit.
    let others = ["cells of several", "atomic of several", "an access that may fail", "exit"];
    let engines = Engines::interpreters();
    let mut checked = 0;
    for seed in 1..160 {
        let program = program(Choices::of_seed(seed));
        if others.iter().any(|feature| program.features.contains(feature)) {
            continue;
        }
        let findings = engines.findings(&program.case).unwrap();
        assert!(findings.is_empty(), "seed {seed}: {}\n{}", findings.join("\n"), program.case);
        checked += 1;
    }
    assert!(checked > 80, "{checked}");
}

/// Compares engines on the programs of some seeds; how many launches came to their end, and how many failed in the same way.
fn compare(engines: &Engines, seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut ended, mut failed) = (0, 0);
    for seed in seeds {
        let case = program(Choices::of_seed(seed)).case;
        match engines.compare(&case) {
            Ok(Agreement::Ended) => ended += 1,
            Ok(Agreement::Failed) => failed += 1,
            Ok(Agreement::Unknown) => {}
            Err(error) => panic!("seed {seed}: {error}\n{case}"),
        }
    }
    (ended, failed)
}

#[test]
fn interpreters_agree() {
    let (ended, failed) = compare(&Engines::interpreters().unchecked(), 1..200);
    assert!(ended > 150 && failed > 5, "{ended} came to their end, {failed} failed");
}

#[test]
fn native_code_agrees() {
    // LLVM takes most of the time, and gets the same texts until the machine writes others.
    let folder = rumba_interface::environment::cache_folder().unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
    // There is nothing to compare on a machine without LLVM.
    let Some(engines) = Engines::keeping_code_in(folder.join("tests/native")) else { return };
    let (ended, _) = compare(&engines, 1000..1010);
    assert!(ended > 5, "{ended} came to their end");
}
