//! The attacks of tests/unsound: each runs to its end, harmless, and the checks find nothing in it but what it states.

use anyhow::Context;
use libtest_mimic::{Failed, Trial};
use rumba::{Checks, Device, check::Severity};
use unsound::{ATTACKS, Attack, Target};

use crate::{Group, in_a_process};

pub(super) const GROUP: Group = Group { name: "unsound", trials, child };

/// The text with the kernels of an attack.
fn ptx(attack: &Attack) -> &'static str {
    match attack.name.starts_with("collective::") {
        true => include_str!(env!("UNSOUND_COLLECTIVE_PTX")),
        false => include_str!(env!("UNSOUND_PTX")),
    }
}

/// Orders of the threads that are tried under the checks.
const SCHEDULES: u32 = 4;

/// Runs an attack on an engine.
type Run = fn(&Attack) -> Result<(), Failed>;

fn trials() -> anyhow::Result<Vec<Trial>> {
    let engines: [(&str, Run); 3] = [
        ("checked", checked),
        ("soft", |attack| unchecked("soft", attack)),
        ("gpu", |attack| unchecked("gpu", attack)),
    ];
    let trials = engines.into_iter().filter(|(engine, _)| *engine != "gpu" || test_processes::has_gpu()).flat_map(
        |(engine, run)| {
            let attacks = ATTACKS.iter();
            attacks.map(move |attack| Trial::test(format!("unsound::{engine}::{}", attack.name), move || run(attack)))
        },
    );
    Ok(trials.collect())
}

/// Runs an attack on a device without checks.
fn unchecked(device: &str, attack: &Attack) -> Result<(), Failed> {
    in_a_process(GROUP.name, attack.name, &[("RUMBA_DEVICE", device)])
}

/// Runs an attack under every check, in several orders of its threads.
fn checked(attack: &Attack) -> Result<(), Failed> {
    let found = Checks::default().schedules(SCHEDULES).run(|device| {
        let target = Target { module: device.load(ptx(attack))?, device: device.clone(), is_checked: true };
        (attack.run)(&target)
    })?;
    let unexpected: Vec<String> = found
        .iter()
        .filter(|finding| finding.severity > Severity::Info && !attack.finds.contains(&finding.kind))
        .map(ToString::to_string)
        .collect();
    if unexpected.is_empty() { Ok(()) } else { Err(unexpected.join("\n\n").into()) }
}

/// The body of the process of one attack.
fn child(name: &str) -> anyhow::Result<()> {
    let attack = ATTACKS.iter().find(|attack| attack.name == name).context("no such attack")?;
    let device = Device::new()?;
    let module = device.load(ptx(attack))?;
    Ok((attack.run)(&Target { device, module, is_checked: false })?)
}
