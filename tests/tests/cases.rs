//! Every case on every engine, each in a process of its own: `cargo test --test cases -- saxpy`.
//!
//! An engine is an environment in which this program runs itself again: the device is chosen once per process, and a
//! case that brings its process down fails alone. `RUMBA_TEST_GPU=1` adds the GPU, and fails where there is none.

use libtest_mimic::{Arguments, Failed, Trial};
use rumba_tests::{Case, NVCC, PTX, baselines, cases};
use std::process::{Command, ExitCode};

/// A device, and how it is set up.
struct Engine {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
}

const SOFTWARE: &[Engine] = &[
    Engine {
        name: "software",
        environment: &[("RUMBA_DEVICE", "soft")],
    },
    Engine {
        name: "software_one_worker",
        environment: &[("RUMBA_DEVICE", "soft"), ("RUMBA_WORKERS", "1")],
    },
];
const GPU: &[Engine] = &[Engine {
    name: "gpu",
    environment: &[("RUMBA_DEVICE", "gpu")],
}];

/// nvcc's kernels of the same algorithms, of the cases that have such.
const BASELINE: Engine = Engine {
    name: "baseline",
    environment: &[("RUMBA_DEVICE", "soft"), (MODULE, "nvcc")],
};

/// In the environment of a child: whose kernels to run, if not ours.
const MODULE: &str = "RUMBA_TEST_MODULE";
/// In the environment of a child: the case to run.
const CHILD: &str = "RUMBA_TEST_CASE";

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CHILD) {
        return match child(&name) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error:?}");
                ExitCode::FAILURE
            }
        };
    }
    let gpu = std::env::var_os("RUMBA_TEST_GPU").is_some();
    let engines = SOFTWARE.iter().chain(if gpu { GPU } else { &[] });
    let ours = engines.flat_map(|engine| cases::ALL.iter().map(move |case| (engine, *case)));
    let with_baseline = cases::ALL.iter().filter(|case| !baselines(case).is_empty());
    let trials = ours
        .chain(with_baseline.map(|case| (&BASELINE, *case)))
        .map(|(engine, case)| Trial::test(format!("{}::{}", engine.name, case.name), move || parent(engine, case)))
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs one case in an engine's environment.
fn parent(engine: &Engine, case: &Case) -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?)
        .env(CHILD, case.name)
        .envs(engine.environment.iter().copied())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&text)).into())
}

/// Every size of the case: launch, reference, comparison.
fn child(name: &str) -> anyhow::Result<()> {
    use anyhow::Context;

    let case = cases::ALL
        .iter()
        .find(|case| case.name == name)
        .context("no such case")?;
    let device = rumba::Device::new()?;
    let module = match std::env::var_os(MODULE) {
        // SAFETY: nvcc's kernels are those of the gallery.
        Some(_) => unsafe { device.load_unchecked("nvcc's", NVCC) }?,
        None => device.load(PTX)?,
    };
    for &n in case.sizes {
        let run = || -> anyhow::Result<()> {
            let mut prepared = (case.prepare)(&device, &module, n)?;
            prepared.launch()?;
            device.synchronize()?;
            prepared.native();
            prepared.verify()
        };
        run().with_context(|| format!("{name} of size {n} on {}", device.name()))?;
    }
    Ok(())
}
