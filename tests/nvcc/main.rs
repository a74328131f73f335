//! Programs of CUDA C++ in `cuda/`, the PTX that nvcc made of them in `ptx/`, and what they should compute; the same of kernels of Triton
//! in `triton/`. Every program runs on every engine, each in a process of its own: `cargo test -p rumba-tests --test nvcc -- scan`.
//!
//! The PTX is kept, so that no test needs nvcc or Triton; `cargo xtask nvcc` and `triton/kernels.py` make it anew. An engine is an
//! environment in which this program runs itself again. `RUMBA_TEST_GPU=1` adds the GPU, and fails without a GPU.

mod compare;
mod gpu;
mod numbers;
mod programs;
mod triton;

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use test_processes::{Engine, asked, engines, passed, run};

use gpu::{Arg, Gpu, Size};
use programs::Program;

/// The output of the program `print`.
const PRINTED: &str = include_str!("ptx/print.txt");

/// The programs of nvcc and of Triton.
fn all() -> impl Iterator<Item = &'static Program> {
    programs::ALL.iter().chain(triton::ALL)
}

/// The interpreter under all checks, which find no error in the programs for new architectures.
const CHECKED: Engine = Engine {
    name: "checked",
    environment: &[("RUMBA_DEVICE", "soft"), ("RUMBA_CHECK", "all"), ("RUMBA_ENGINE", "interpreter")],
};

fn main() -> ExitCode {
    if let Some(name) = asked() {
        let program = all().find(|program| program.name == name);
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
    let trials = engines()
        .chain([&CHECKED])
        .flat_map(|engine| all().map(move |program| (engine, program)))
        .filter(|(engine, program)| match engine.name {
            "gpu" => program.capability.is_none(),
            "checked" => program.capability.is_some(),
            _ => true,
        })
        .map(|(engine, program)| {
            Trial::test(format!("{}::{}", engine.name, program.name), move || parent(engine, program))
        })
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Runs one program in an engine's environment.
fn parent(engine: &Engine, program: &Program) -> Result<(), Failed> {
    let mut environment = engine.environment.to_vec();
    environment.extend(program.capability.map(|capability| ("RUMBA_SOFT_ARCH", capability)));
    let output = run(program.name, &environment)?;
    passed(&output)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = if program.name == "print" { PRINTED } else { "" };
    if printed != expected {
        return Err(format!("it printed:\n{printed}instead of:\n{expected}").into());
    }
    Ok(())
}
