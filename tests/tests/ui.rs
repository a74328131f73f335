//! The corpus of tests/ui under every check: each wrong kernel is found, with the kind and the lines that its comments name,
//! in every order of its threads; nothing is found in the right ones, whose results are what their comments say.
//!
//! `cargo test -p rumba-tests --test ui -- NAME` runs the kernels whose names contain NAME; `RUMBA_UI_SEEDS` says how many
//! orders are tried. `RUMBA_TEST_GPU=1` runs the right kernels whose results are stated on the GPU as well, each in a process of
//! its own, and fails where there is none.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use rumba::{Checks, Device, check::Finding, check::Severity};
use rumba_tests::ui::{Case, cases};

/// Orders of the threads that are tried: of kernels in CUDA C++, which there are for two architectures, half as many.
const SEEDS: u64 = 20;

/// In the environment of a child: the kernel to run on the GPU, with its architecture.
const CHILD: &str = "RUMBA_TEST_KERNEL";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cases = match cases() {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{error:?}");
            return ExitCode::FAILURE;
        }
    };
    if let Ok(name) = std::env::var(CHILD) {
        let case = cases
            .iter()
            .find(|case| name == format!("{}::{}", case.check, case.name));
        return match case.map(|case| case.launch(&Device::new()?)) {
            Some(Ok(())) => ExitCode::SUCCESS,
            outcome => {
                eprintln!("{outcome:?}");
                ExitCode::FAILURE
            }
        };
    }
    let mut trials = Vec::new();
    for case in cases {
        let name = format!("{}::{}", case.check, case.name);
        if std::env::var_os("RUMBA_TEST_GPU").is_some() && !case.results.is_empty() {
            trials.push(Trial::test(format!("gpu::{name}"), move || on_gpu(&name)));
        }
        let verdict = if case.is_wrong { "wrong" } else { "right" };
        let name = format!("{}::{verdict}::{}", case.check, case.name);
        trials.push(Trial::test(name, move || check(&case)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a kernel in a process that uses the GPU, without checks.
fn on_gpu(name: &str) -> Result<(), Failed> {
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.env(CHILD, name).env("RUMBA_DEVICE", "gpu").output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// A kind and lines, as comments name them.
type Mark = (String, BTreeSet<u32>);

fn check(case: &Case) -> Result<(), Failed> {
    let seeds = std::env::var("RUMBA_UI_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    let is_cuda = case.file.ends_with(".cu");
    let seeds = seeds.unwrap_or(if is_cuda { SEEDS / 2 } else { SEEDS });
    // Orders are compared with each other by the one check, and looked at one by one by the others.
    let together = case.check == "port" || case.is_by_chance || (is_cuda && !case.is_wrong);
    let (runs, schedules) = if together { (1, seeds as u32) } else { (seeds, 1) };
    for seed in 0..runs {
        // Errors that are no kernel's are told here, all others are findings.
        let mut refusal = None;
        let found = Checks::default()
            .seed(seed)
            .schedules(schedules)
            .run(|gpu| match case.launch(gpu) {
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
        let marks: BTreeSet<Mark> = found
            .iter()
            .filter(is_mistake)
            .map(|finding| mark(case, finding))
            .collect();
        // What is marked in a right kernel is information.
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
            return Err(format!("tests/ui/{}, seed {seed}:\n{wrong}\n{found}", case.file).into());
        }
    }
    Ok(())
}

/// The kind, and of each side the line in the kernel's own file: helpers are inlined there.
fn mark(case: &Case, finding: &Finding) -> Mark {
    let is_ptx = case.file.ends_with(".ptx");
    let lines = finding.sides.iter().filter_map(|side| {
        let own = side
            .locations
            .iter()
            .find(|location| location.file.ends_with(case.file));
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
