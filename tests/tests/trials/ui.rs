//! The corpus of tests/ui under every check: each wrong kernel is found, with the kind and the lines that its comments name,
//! in every order of its threads; nothing is found in the right ones, whose results are what their comments say.
//!
//! `RUMBA_UI_SEEDS` says how many orders are tried. On a GPU, the right kernels whose results are stated run as well, each in a
//! process of its own.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Context;
use libtest_mimic::{Failed, Trial};
use rumba::{Checks, Device, check::Finding, check::Severity};
use rumba_tests::ui::{Case, cases, path};

use crate::{Group, in_a_process};

pub(super) const GROUP: Group = Group { name: "ui", trials, child: on_gpu };

/// Orders of the threads that are tried: of kernels in CUDA C++, which there are for two architectures, half as many.
const SEEDS: u64 = 20;

fn trials() -> anyhow::Result<Vec<Trial>> {
    let mut trials = Vec::new();
    for case in cases()? {
        if test_processes::has_gpu() && !case.results.is_empty() {
            let name = id(&case);
            trials.push(Trial::test(format!("ui::gpu::{name}"), move || {
                in_a_process(GROUP.name, &name, &[("RUMBA_DEVICE", "gpu")])
            }));
        }
        let verdict = if case.is_wrong { "wrong" } else { "right" };
        let name = format!("ui::{}::{verdict}::{}", case.check, case.name);
        trials.push(Trial::test(name, move || check(&case)));
    }
    Ok(trials)
}

fn id(case: &Case) -> String {
    format!("{}::{}", case.check, case.name)
}

/// Launches a kernel without checks.
fn on_gpu(name: &str) -> anyhow::Result<()> {
    let case = cases()?.into_iter().find(|case| id(case) == name);
    let case = case.context("no such kernel")?;
    case.launch(&Device::new()?, &case.ptx()?)
}

/// A kind and lines, as comments name them.
type Mark = (String, BTreeSet<u32>);

fn check(case: &Case) -> Result<(), Failed> {
    let seeds = std::env::var("RUMBA_UI_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let is_cuda = case.file.ends_with(".cu");
    let seeds = seeds.unwrap_or(if is_cuda { SEEDS / 2 } else { SEEDS });
    // Orders are compared with each other by the one check, and looked at one by one by the others.
    let together = case.check == "port" || case.is_by_chance || (is_cuda && !case.is_wrong);
    let (runs, schedules) = if together { (1, seeds as u32) } else { (seeds, 1) };
    let ptx = case.ptx()?;
    for seed in 0..runs {
        // Errors outside of kernels are returned here; errors of kernels become findings.
        let mut refusal = None;
        let found = Checks::default().seed(seed).schedules(schedules).run(|gpu| match case.launch(gpu, &ptx) {
            Ok(()) => Ok(()),
            Err(error) => match error.downcast() {
                Ok(error) => Err(error),
                Err(error) => {
                    refusal = Some(error);
                    Ok(())
                }
            },
        })?;
        let is_mistake = |finding: &&Finding| finding.severity > Severity::Info;
        let marks: BTreeSet<Mark> = found.iter().filter(is_mistake).map(|finding| mark(case, finding)).collect();
        // Marks in a right kernel are information.
        let remarks = found.iter().filter(|finding| !case.is_wrong || is_mistake(finding));
        let remarks: BTreeSet<Mark> = remarks.map(|finding| mark(case, finding)).collect();
        let mut wrong = String::new();
        if case.is_missed {
            if marks.is_empty() == case.is_wrong {
                continue;
            }
            return Err(format!("`{}` is no longer missed: take the word out of its line", case.name).into());
        }
        for expected in case.expected.iter().filter(|expected| !expected.optional) {
            let mark = (expected.kind.clone(), expected.lines.clone());
            if !remarks.contains(&mark) {
                let _ = writeln!(wrong, "not found: {} in lines {:?}", mark.0, mark.1);
            }
        }
        let known = |mark: &Mark| {
            let mut expected = case.expected.iter();
            case.is_wrong && expected.any(|expected| expected.kind == mark.0 && expected.lines == mark.1)
        };
        for (kind, lines) in marks.iter().filter(|mark| !known(mark)) {
            let _ = writeln!(wrong, "not expected: {kind} in lines {lines:?}");
        }
        if case.is_wrong && marks.is_empty() {
            let _ = writeln!(wrong, "nothing was found");
        }
        if (found.is_empty() || !case.is_wrong)
            && let Some(error) = refusal
        {
            let _ = writeln!(wrong, "the launch failed: {error:#}");
        }
        if !wrong.is_empty() {
            return Err(format!("tests/{}, seed {seed}:\n{wrong}\n{found}", path(case.file)).into());
        }
    }
    Ok(())
}

/// The kind, and of each side the line in the kernel's own file: helpers are inlined there.
fn mark(case: &Case, finding: &Finding) -> Mark {
    let is_ptx = case.file.ends_with(".ptx");
    let lines = finding.sides.iter().filter_map(|side| {
        let own = side.locations.iter().find(|location| location.file.ends_with(case.file));
        match own {
            // Line 0 is that of no line: what the compiler made of several.
            Some(location) => Some(location.line).filter(|line| *line != 0),
            None if is_ptx => Some(side.ptx_line),
            // The end of a kernel is a line of the macro that made it.
            None => None,
        }
    });
    (finding.kind.id(), lines.collect())
}
