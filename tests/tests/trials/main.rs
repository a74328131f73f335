//! Tests that tables and corpora name, not functions: `cases::ENGINE::NAME`, `engines::CHECK::FILE`, `ui::CHECK::right::KERNEL`, `unsound::checked::ATTACK`.
//!
//! `cargo test -p rumba-tests --test trials -- NAME` runs the tests whose names contain NAME. `RUMBA_TEST_GPU=1` adds
//! the GPU, and fails without a GPU.

mod cases;
mod engines;
mod ui;
mod unsound;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

/// Tests of a kind.
struct Group {
    name: &'static str,
    trials: fn() -> anyhow::Result<Vec<Trial>>,
    /// Runs what [`in_a_process`] asked for.
    child: fn(name: &str) -> anyhow::Result<()>,
}

const GROUPS: [Group; 4] = [cases::GROUP, engines::GROUP, ui::GROUP, unsound::GROUP];

fn main() -> ExitCode {
    let outcome = match test_processes::asked() {
        Some(asked) => child(&asked).map(|()| ExitCode::SUCCESS),
        None => trials().map(|trials| libtest_mimic::run(&Arguments::from_args(), trials).exit_code()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{error:?}");
        ExitCode::FAILURE
    })
}

fn trials() -> anyhow::Result<Vec<Trial>> {
    let groups: Vec<Vec<Trial>> = GROUPS.iter().map(|group| (group.trials)()).collect::<Result<_, _>>()?;
    Ok(spread(groups))
}

/// All elements, those of each group spread evenly: checked launches of a process take turns, so that threads which have only such
/// tests left wait for each other.
fn spread<T>(groups: Vec<Vec<T>>) -> Vec<T> {
    let mut all: Vec<_> = groups
        .into_iter()
        .flat_map(|group| {
            let count = group.len() as f64;
            group.into_iter().enumerate().map(move |(index, element)| ((index as f64 + 0.5) / count, element))
        })
        .collect();
    all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    all.into_iter().map(|(_, element)| element).collect()
}

fn child(asked: &str) -> anyhow::Result<()> {
    let group = |(name, _): &(&str, _)| GROUPS.into_iter().find(|group| group.name == *name);
    let (asked, group) = asked
        .split_once("::")
        .and_then(|asked| Some((asked, group(&asked)?)))
        .ok_or_else(|| anyhow::anyhow!("there is no group of `{asked}`"))?;
    (group.child)(asked.1)
}

/// Runs a group's `child` in a process of its own: the device is chosen once per process, and what brings a process or its
/// context down fails alone.
fn in_a_process(group: &str, name: &str, environment: &[(&str, &str)]) -> Result<(), Failed> {
    let output = test_processes::run(&format!("{group}::{name}"), environment)?;
    Ok(test_processes::passed(&output)?)
}
