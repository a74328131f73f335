//! Every case on every engine, each in a process of its own: `cargo test -p rumba-tests --test trials -- saxpy`.

use anyhow::Context;
use libtest_mimic::Trial;
use rumba_tests::{Case, NVCC, PTX, baselines, cases};
use test_processes::{Engine, engines};

use crate::{Group, in_a_process};

pub(super) const GROUP: Group = Group { name: "cases", trials, child };

/// nvcc's kernels of the same algorithms, of the cases that have such.
const BASELINE: Engine = Engine { name: "baseline", environment: &[("RUMBA_DEVICE", "soft"), (MODULE, "nvcc")] };

/// In the environment of a child: whose kernels to run, if not ours.
const MODULE: &str = "RUMBA_TEST_MODULE";

fn trials() -> anyhow::Result<Vec<Trial>> {
    let ours = engines().flat_map(|engine| cases::ALL.iter().map(move |case| (engine, *case)));
    let with_baseline = cases::ALL.iter().filter(|case| !baselines(case).is_empty());
    let trials = ours.chain(with_baseline.map(|case| (&BASELINE, *case)));
    Ok(trials.map(|(engine, case)| trial(engine, case)).collect())
}

fn trial(engine: &'static Engine, case: &'static Case) -> Trial {
    Trial::test(format!("cases::{}::{}", engine.name, case.name), move || {
        in_a_process(GROUP.name, case.name, engine.environment)
    })
}

/// Every size of the case: launch, reference, comparison.
fn child(name: &str) -> anyhow::Result<()> {
    let case = cases::ALL.iter().find(|case| case.name == name).context("no such case")?;
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
