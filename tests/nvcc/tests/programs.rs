//! Every program on every engine, each in a process of its own: `cargo test -p nvcc-programs -- scan`.
//!
//! An engine is an environment in which this program runs itself again. `RUMBA_TEST_GPU=1` adds the GPU, and fails where
//! there is none.

use libtest_mimic::{Arguments, Failed, Trial};
use nvcc_programs::{Gpu, Program, programs};
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

/// In the environment of a child: the program to run.
const CHILD: &str = "RUMBA_TEST_PROGRAM";

/// What the program `print` prints.
const PRINTED: &str = include_str!("../ptx/print.txt");

fn main() -> ExitCode {
    if let Ok(name) = std::env::var(CHILD) {
        let program = programs::ALL.iter().find(|program| program.name == name);
        let outcome = program.map(|program| Gpu::new(program.ptx).and_then(|gpu| (program.run)(&gpu)));
        return match outcome {
            Some(Ok(())) => ExitCode::SUCCESS,
            Some(Err(error)) => {
                eprintln!("{error:#}");
                ExitCode::FAILURE
            }
            None => ExitCode::FAILURE,
        };
    }
    let gpu = std::env::var_os("RUMBA_TEST_GPU").is_some();
    let engines = SOFTWARE.iter().chain(if gpu { GPU } else { &[] });
    let trials = engines
        .flat_map(|engine| {
            programs::ALL.iter().map(move |program| {
                Trial::test(format!("{}::{}", engine.name, program.name), move || {
                    parent(engine, program)
                })
            })
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs one program in an engine's environment.
fn parent(engine: &Engine, program: &Program) -> Result<(), Failed> {
    let output = Command::new(std::env::current_exe()?)
        .env(CHILD, program.name)
        .envs(engine.environment.iter().copied())
        .output()?;
    let (printed, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if !output.status.success() {
        return Err(format!("{}\n{printed}{errors}", output.status).into());
    }
    let expected = if program.name == "print" { PRINTED } else { "" };
    if printed != expected {
        return Err(format!("it printed:\n{printed}instead of:\n{expected}").into());
    }
    Ok(())
}
