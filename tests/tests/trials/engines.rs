//! The corpus of tests/ui on both engines of the software device, launched as programs launch kernels, by default and under
//! all checks: the outcomes and the reports are the same word by word, with the same lines. Launches with a seed are
//! interpreted in any case: ui.rs.

use anyhow::Context;
use libtest_mimic::{Failed, Trial};
use rumba::Device;
use rumba_tests::ui::{SOURCES, Source, cases};

use crate::Group;

pub(super) const GROUP: Group = Group { name: "engines", trials, child };

/// The prefix of an outcome in the output of a child.
const OUTCOME: &str = "outcome of ";

fn trials() -> anyhow::Result<Vec<Trial>> {
    // LLVM of the toolchain is for the processor that tests are compiled on.
    let sources = SOURCES.iter().filter(|_| cfg!(target_arch = "x86_64"));
    let trials = sources.flat_map(|source| {
        CHECKS.map(|(name, checks)| {
            Trial::test(format!("engines::{name}{}", id(source)), move || compare(source, checks))
        })
    });
    Ok(trials.collect())
}

/// The choices of checks: a part of the trial's name, and the value of `RUMBA_CHECK`.
const CHECKS: [(&str, &str); 2] = [("", ""), ("checked::", "all")];

fn id(source: &Source) -> String {
    format!("{}::{}", source.check, source.file)
}

/// How long a launch may take, in seconds, in one attempt after the other. Some of the wrong kernels never end, on either engine;
/// what differs because the machine is busy is the same in the second attempt.
const LIMITS: [&str; 2] = ["0.5", "10"];

fn compare(source: &Source, checks: &str) -> Result<(), Failed> {
    let mut difference = None;
    for limit in LIMITS {
        let interpreted = outcomes(source, ("interpreter", checks), limit)?;
        let compiled = outcomes(source, ("compiled", checks), limit)?;
        difference = interpreted.difference(&compiled);
        if difference.is_none() {
            let (kernels, functions) = (compiled.of_kernels.len(), compiled.functions);
            println!("{}: {kernels} kernels, {functions} functions compiled", id(source));
            break;
        }
    }
    match difference {
        None => Ok(()),
        Some(difference) => Err(difference.into()),
    }
}

/// The launches of a process.
struct Outcomes {
    of_kernels: Vec<String>,
    /// The reports of checks.
    reports: String,
    /// How many functions were compiled or found on disk.
    functions: usize,
}

impl Outcomes {
    /// How the outcomes of compiled kernels differ from these, if they do.
    fn difference(&self, compiled: &Self) -> Option<String> {
        let mut pairs = self.of_kernels.iter().zip(&compiled.of_kernels);
        if let Some((interpreted, compiled)) = pairs.find(|(interpreted, compiled)| interpreted != compiled) {
            return Some(format!("interpreted: {interpreted}\ncompiled: {compiled}"));
        }
        if self.reports != compiled.reports {
            return Some(format!("interpreted:\n{}\ncompiled:\n{}", self.reports, compiled.reports));
        }
        let [of, and] = [self, compiled].map(|outcomes| outcomes.of_kernels.len());
        let is_compared = of > 0 && of == and && compiled.functions > 0;
        (!is_compared).then(|| format!("{of} outcomes, and {and} of {} compiled functions", compiled.functions))
    }
}

/// The outcomes of the kernels of a source.
fn outcomes(source: &Source, (engine, checks): (&str, &str), limit: &str) -> Result<Outcomes, Failed> {
    let environment = [
        ("RUMBA_DEVICE", "soft"),
        ("RUMBA_ENGINE", engine),
        ("RUMBA_CHECK", checks),
        // The exit code says whether the trial could be run.
        ("RUMBA_CHECK_EXIT", "0"),
        ("RUMBA_LOG", "errors"),
        // One order of the blocks.
        ("RUMBA_WORKERS", "1"),
        ("RUMBA_TIMEOUT", limit),
    ];
    let output = test_processes::run(&format!("{}::{}", GROUP.name, id(source)), &environment)?;
    test_processes::passed(&output)?;
    let text = test_processes::text(&output);
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(Outcomes {
        of_kernels: printed.split(OUTCOME).skip(1).map(without_addresses).collect(),
        reports: reports(&String::from_utf8_lossy(&output.stderr)),
        functions: text.lines().filter(|line| line.contains("`: compiled ")).count(),
    })
}

/// The reports in what a process has printed: all but the lines of the log.
fn reports(text: &str) -> String {
    let is_log = |line: &&str| {
        let line = line.trim_start_matches("rumba: ");
        line.starts_with("kernel `") || line.starts_with("device: ") || line.starts_with("software device: ")
    };
    let lines: Vec<&str> = text.lines().filter(|line| !is_log(line)).collect();
    without_addresses(&lines.join("\n"))
}

/// The same with a word for each address, which the system chooses.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (number, rest) = part.split_at(digits);
        all.push_str("0x");
        all.push_str(if digits > 8 { "address" } else { number });
        all.push_str(rest);
    }
    all
}

/// Launches the kernels of a source, one after the other.
fn child(name: &str) -> anyhow::Result<()> {
    let source = SOURCES.iter().find(|source| id(source) == name);
    let source = source.context("there is no such source")?;
    let device = Device::new()?;
    let of_source = |case: &rumba_tests::ui::Case| (case.file, case.check) == (source.file, source.check);
    for case in cases()?.into_iter().filter(of_source) {
        let outcome = case.ptx().and_then(|ptx| case.launch(&device, &ptx));
        if outcome.is_err() {
            device.reset()?;
        }
        println!("{OUTCOME}{}: {outcome:?}", case.name);
    }
    Ok(())
}
