//! The attacks of tests/unsound: each runs to its end, harmless, and the checks find nothing in it but what it states.
//!
//! `cargo test -p rumba-tests --test unsound -- NAME` runs the attacks whose names contain NAME. With `RUMBA_TEST_GPU` they
//! run on a GPU too, each in a process of its own: what ends a context there ends it for the whole process.

use libtest_mimic::{Arguments, Failed, Trial};
use rumba::{Checks, Device, check::Severity};
use std::process::{Command, ExitCode};
use unsound::{ATTACKS, Attack, Target};

const PTX: &str = include_str!(env!("UNSOUND_PTX"));
/// Names the attack that a process of its own runs.
const ALONE: &str = "RUMBA_UNSOUND_ATTACK";
/// Orders of the threads that are tried under the checks.
const SEEDS: u64 = 4;

/// What runs attacks, by its name.
type Engine = (&'static str, fn(&Attack) -> Result<(), Failed>);

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(ALONE) {
        return alone(&name);
    }
    let engines: [Engine; 3] = [
        ("checked", checked),
        ("soft", |attack| in_a_process("soft", attack)),
        ("gpu", |attack| in_a_process("gpu", attack)),
    ];
    let has_gpu = std::env::var_os("RUMBA_TEST_GPU").is_some();
    let trials = engines
        .iter()
        .filter(|(engine, _)| *engine != "gpu" || has_gpu)
        .flat_map(|&(engine, run)| {
            ATTACKS
                .iter()
                .map(move |attack| Trial::test(format!("{engine}::{}", attack.name), move || run(attack)))
        });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Runs an attack under every check, in several orders of its threads.
fn checked(attack: &Attack) -> Result<(), Failed> {
    for seed in 0..SEEDS {
        let found = Checks::default().seed(seed).run(|device| {
            let target = Target {
                module: device.load(PTX)?,
                device: device.clone(),
                is_checked: true,
            };
            (attack.run)(&target)
        })?;
        let unexpected: Vec<String> = found
            .iter()
            .filter(|finding| finding.severity > Severity::Info && !attack.finds.contains(&finding.kind))
            .map(ToString::to_string)
            .collect();
        if !unexpected.is_empty() {
            return Err(format!("with seed {seed}:\n{}", unexpected.join("\n\n")).into());
        }
    }
    Ok(())
}

/// Runs this program again, for one attack.
fn in_a_process(device: &str, attack: &Attack) -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?)
        .env(ALONE, attack.name)
        .env("RUMBA_DEVICE", device)
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// What the process of one attack does.
fn alone(name: &str) -> ExitCode {
    let attack = ATTACKS
        .iter()
        .find(|attack| attack.name == name)
        .unwrap_or_else(|| panic!("there is no attack `{name}`"));
    let run = || {
        let device = Device::new()?;
        let module = device.load(PTX)?;
        (attack.run)(&Target {
            device,
            module,
            is_checked: false,
        })
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
