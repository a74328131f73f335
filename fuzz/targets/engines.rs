//! Modules of lines that are mostly right: native code and the interpreter leave the same memory and report the same, after faults
//! as well where a launch is one warp.
//!
//! What the inputs are is said in `program.rs`. The device compares, launch by launch; what it leaves out is said in
//! `rumba-vm/src/run/compared.rs`.

#![no_main]

mod program;

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use program::Input;
use rumba_jit::{Jit, JitError, Settings};
use rumba_llvm::{Pipeline, find};
use rumba_vm::engine::{Code, Compiler, Done, ENTRY_POINT, Unit};
use rumba_vm::{Config, Device, Engine, FaultKind, Launch, LaunchFailure, Source};

#[derive(Debug)]
struct Native(Jit);

// SAFETY: LLVM compiles for this processor, and the code is held by the owner.
unsafe impl Compiler for Native {
    fn compile(&self, unit: Unit, done: Done) {
        done(match self.0.compile_now(&unit.kernel, &unit.text) {
            Ok(code) => match code.symbol(ENTRY_POINT) {
                Some(entry) => Ok(Code { entry, owner: code }),
                None => panic!("the text defines no entry:\n{}", unit.text),
            },
            Err(error @ (JitError::NoLlvm | JitError::Load { .. })) => panic!("{error}"),
            // The text is the machine's: LLVM accepts it.
            Err(error) => panic!("{error}\n{}", unit.text),
        });
    }
}

static BOTH: LazyLock<Engine> = LazyLock::new(|| {
    Engine::compared(Arc::new(Native(Jit::new(Settings {
        library: find::library,
        cache: None,
        build: String::new(),
        pipeline: Pipeline {
            passes: c"default<O2>",
            widens_loops: false,
        },
        log: |_| (),
    }))))
});

/// Runs the kernels of a module on both engines: whether one of them fails, on both alike. Nothing if the module is refused.
fn compare(input: &Input, grid: u32, block: u32) -> Option<bool> {
    let config = Config {
        memory_bytes: 16 << 20,
        workers: 1,
        instruction_limit: 20_000,
        stack_bytes: 4096,
        engine: BOTH.clone(),
        ..Config::default()
    };
    let device = Device::new(config).expect("a small device");
    device.set_output(Box::new(|_: &[u8]| ()));
    let source = Source {
        name: "fuzz.ptx",
        ptx: &input.text,
    };
    let module = device.load(&[source]).ok()?;
    let mut functions: Vec<_> = module.functions().collect();
    functions.sort_by(|a, b| a.name().cmp(b.name()));
    let mut fails = false;
    for function in functions {
        let mut parameters: Vec<u8> =
            input.parameters.iter().cycle().take(64).flat_map(|word| word.to_le_bytes()).collect();
        parameters.resize(function.parameter_bytes(), 0);
        let launch = Launch {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared: 0,
            parameters: &parameters,
            cooperative: false,
            cluster: None,
        };
        let outcome = device.launch(&function, &launch);
        if let Err(LaunchFailure::Fault(fault)) = &outcome {
            assert!(
                fault.kind != FaultKind::EngineDifference,
                "{grid} x {block} threads\n{fault}\n{}",
                input.text
            );
        }
        fails |= outcome.is_err();
    }
    Some(fails)
}

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data) else { return };
    let fails = compare(&input, input.grid, input.block);
    let is_one_warp = input.grid == 1 && input.block <= 32;
    if fails == Some(true) && !is_one_warp {
        // Of what fails so, everything is determined in a warp, and in a thread.
        for block in [32, 1] {
            compare(&input, 1, block);
        }
    }
});
