//! The corpus of tests/ui on both engines of the software device, launched as programs launch kernels: the outcomes are the same
//! word by word, with the same lines. With checks that watch a launch, or with a seed, kernels are interpreted in any case: ui.rs.

use anyhow::Context;
use libtest_mimic::{Failed, Trial};
use rumba::Device;
use rumba_tests::ui::{SOURCES, Source, cases};

use crate::Group;

pub(super) const GROUP: Group = Group {
    name: "engines",
    trials,
    child,
};

/// What an outcome begins with, in what a child prints.
const OUTCOME: &str = "outcome of ";

fn trials() -> anyhow::Result<Vec<Trial>> {
    // LLVM of the toolchain is for the processor that tests are compiled on.
    let sources = SOURCES.iter().filter(|_| cfg!(target_arch = "x86_64"));
    Ok(sources
        .map(|source| Trial::test(format!("engines::{}", id(source)), move || compare(source)))
        .collect())
}

fn id(source: &Source) -> String {
    format!("{}::{}", source.check, source.file)
}

fn compare(source: &Source) -> Result<(), Failed> {
    let [interpreted, compiled] = ["interpreter", "compiled"].map(|engine| outcomes(source, engine));
    let ((interpreted, _), (compiled, functions)) = (interpreted?, compiled?);
    for (interpreted, compiled) in interpreted.iter().zip(&compiled) {
        if interpreted != compiled {
            return Err(format!("interpreted: {interpreted}\ncompiled: {compiled}").into());
        }
    }
    if interpreted.is_empty() || interpreted.len() != compiled.len() || functions == 0 {
        let (of, and) = (interpreted.len(), compiled.len());
        return Err(format!("{of} outcomes, and {and} of {functions} compiled functions").into());
    }
    println!(
        "{}: {} kernels, {functions} functions compiled",
        id(source),
        interpreted.len()
    );
    Ok(())
}

/// The outcomes of the kernels of a source, and how many functions were compiled or found on disk.
fn outcomes(source: &Source, engine: &str) -> Result<(Vec<String>, usize), Failed> {
    let environment = [
        ("RUMBA_DEVICE", "soft"),
        ("RUMBA_ENGINE", engine),
        ("RUMBA_LOG", "errors"),
        // One order of the blocks.
        ("RUMBA_WORKERS", "1"),
        ("RUMBA_TIMEOUT", "5"),
    ];
    let output = test_processes::run(&format!("{}::{}", GROUP.name, id(source)), &environment)?;
    test_processes::passed(&output)?;
    let text = test_processes::text(&output);
    let functions = text.lines().filter(|line| line.contains("`: compiled ")).count();
    let printed = String::from_utf8_lossy(&output.stdout);
    let outcomes = printed.split(OUTCOME).skip(1).map(without_addresses);
    Ok((outcomes.collect(), functions))
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
        let outcome = case.launch(&device);
        if outcome.is_err() {
            device.reset()?;
        }
        println!("{OUTCOME}{}: {outcome:?}", case.name);
    }
    Ok(())
}
