//! Tests that tables and corpora name, not functions: `cases::ENGINE::NAME`, `ui::CHECK::right::KERNEL`, `unsound::checked::ATTACK`.
//!
//! `cargo test -p rumba-tests --test trials -- NAME` runs those whose names contain NAME. `RUMBA_TEST_GPU=1` adds the GPU, and
//! fails where there is none.

mod cases;
mod ui;
mod unsound;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::{Command, ExitCode};

/// In the environment of a child: the trial that it runs, by its group and its name there.
const CHILD: &str = "RUMBA_TEST_TRIAL";

/// Tests of a kind.
struct Group {
    name: &'static str,
    trials: fn(has_gpu: bool) -> anyhow::Result<Vec<Trial>>,
    /// Runs what [`in_a_process`] asked for.
    child: fn(name: &str) -> anyhow::Result<()>,
}

const GROUPS: [Group; 3] = [cases::GROUP, ui::GROUP, unsound::GROUP];

fn main() -> ExitCode {
    let outcome = match std::env::var(CHILD) {
        Ok(asked) => child(&asked).map(|()| ExitCode::SUCCESS),
        Err(_) => trials().map(|trials| libtest_mimic::run(&Arguments::from_args(), trials).exit_code()),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{error:?}");
        ExitCode::FAILURE
    })
}

fn trials() -> anyhow::Result<Vec<Trial>> {
    let has_gpu = std::env::var_os("RUMBA_TEST_GPU").is_some();
    let mut all = Vec::new();
    for group in GROUPS {
        all.extend((group.trials)(has_gpu)?);
    }
    Ok(all)
}

fn child(asked: &str) -> anyhow::Result<()> {
    let group = |(name, _): &(&str, _)| GROUPS.into_iter().find(|group| group.name == *name);
    let (asked, group) = asked
        .split_once("::")
        .and_then(|asked| Some((asked, group(&asked)?)))
        .ok_or_else(|| anyhow::anyhow!("{CHILD}={asked}: there is no such group"))?;
    (group.child)(asked.1)
}

/// Runs a group's `child` in a process of its own: the device is chosen once per process, and what brings a process or its
/// context down fails alone.
fn in_a_process(group: &str, name: &str, environment: &[(&str, &str)]) -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?)
        .env(CHILD, format!("{group}::{name}"))
        .envs(environment.iter().copied())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&text)).into())
}
