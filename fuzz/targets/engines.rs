//! Modules of lines that are mostly right: native code and the interpreter leave the same memory and report the same, after faults
//! as well where a launch is one warp. Of faults of several warps the kind and the message are the same.
//!
//! What the inputs are is said in `program.rs`. Each engine has a device of its own, one after the other, whose memory lies at the
//! same addresses, which programs compute with. Programs that read a clock are left out.

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

static NATIVE: LazyLock<Engine> = LazyLock::new(|| {
    Engine::compiled(Arc::new(Native(Jit::new(Settings {
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

/// How kernels are launched.
#[derive(Clone, Copy)]
struct Shape {
    grid: u32,
    block: u32,
}

impl Shape {
    /// Whether everything about a launch is determined: the lanes of one warp run in one order. Which of several warps faults first
    /// is the schedule's, and so is how far the others have come.
    fn is_one_warp(self) -> bool {
        self.grid == 1 && self.block <= 32
    }
}

/// What can be seen of launches.
#[derive(Debug, PartialEq)]
struct Seen {
    /// For each kernel, in their order, how its launch failed, if it did.
    failures: Vec<Option<String>>,
    /// Nothing after a launch whose end is not determined.
    after: Option<After>,
}

/// What launches leave behind.
#[derive(Debug, PartialEq)]
struct After {
    findings: Vec<String>,
    memory: Vec<u8>,
    output: Vec<u8>,
}

/// What is determined of how a launch failed, and whether the rest is.
fn failure(failure: &LaunchFailure, shape: Shape) -> (String, bool) {
    match failure {
        // How many instructions a launch has executed when its limit ends it depends on where the engine looks.
        LaunchFailure::Fault(fault) if fault.kind == FaultKind::Timeout => (fault.kind.to_string(), false),
        LaunchFailure::Fault(fault) if !shape.is_one_warp() => (format!("{}: {}", fault.kind, fault.message), false),
        // With thread, place and line.
        LaunchFailure::Fault(_) | LaunchFailure::Refused(_) => (failure.to_string(), true),
    }
}

/// Runs the kernels of a module; with the address of its memory. Nothing if it is refused.
fn run(input: &Input, shape: Shape, engine: Engine) -> Option<(u64, Seen)> {
    let config = Config {
        memory_bytes: 16 << 20,
        workers: 1,
        instruction_limit: 20_000,
        stack_bytes: 4096,
        engine,
        ..Config::default()
    };
    let device = Device::new(config).expect("a small device");
    let output = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = output.clone();
    device.set_output(Box::new(move |text: &[u8]| sink.lock().expect("it is only written").extend(text)));
    let source = Source {
        name: "fuzz.ptx",
        ptx: &input.text,
    };
    let module = device.load(&[source]).ok()?;
    let (start, bytes) = module.global("gmem").unwrap_or_default();
    let mut functions: Vec<_> = module.functions().collect();
    functions.sort_by(|a, b| a.name().cmp(b.name()));
    let mut failures = Vec::new();
    let mut is_determined = true;
    for function in functions {
        let mut parameters: Vec<u8> =
            input.parameters.iter().cycle().take(64).flat_map(|word| word.to_le_bytes()).collect();
        parameters.resize(function.parameter_bytes(), 0);
        let launch = Launch {
            grid: [shape.grid, 1, 1],
            block: [shape.block, 1, 1],
            dynamic_shared: 0,
            parameters: &parameters,
            cooperative: false,
            cluster: None,
        };
        let failed = device.launch(&function, &launch).err().map(|error| failure(&error, shape));
        is_determined &= failed.as_ref().is_none_or(|(_, determined)| *determined);
        failures.push(failed.map(|(text, _)| text));
    }
    let after = is_determined.then(|| {
        let mut memory = vec![0; bytes];
        if bytes > 0 {
            // SAFETY: no launch is under way, and the variable is there while the module is.
            unsafe { device.read(start, &mut memory) }.expect("a variable can be read");
        }
        After {
            findings: device.take_findings().iter().map(|finding| format!("{finding:?}")).collect(),
            memory,
            output: std::mem::take(&mut *output.lock().expect("it is only written")),
        }
    });
    Some((start, Seen { failures, after }))
}

/// Whether there are launches that fail, on both engines alike. Nothing if the module is refused.
fn compare(input: &Input, shape: Shape) -> Option<bool> {
    let (start, expected) = run(input, shape, Engine::interpreter())?;
    let (again, seen) = run(input, shape, NATIVE.clone()).expect("what is loaded once is loaded again");
    // Where the system gave the second device other addresses, nothing can be compared.
    if start == again {
        let Shape { grid, block } = shape;
        assert!(
            seen == expected,
            "{grid} x {block} threads\nnative: {seen:?}\ninterpreted: {expected:?}\n{}",
            input.text
        );
    }
    Some(expected.failures.iter().any(Option::is_some))
}

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data) else { return };
    if input.text.contains("clock") || input.text.contains("globaltimer") {
        return;
    }
    let shape = Shape {
        grid: input.grid,
        block: input.block,
    };
    let fails = compare(&input, shape);
    if fails == Some(true) && !shape.is_one_warp() {
        // Of what fails so, everything is determined in a warp, and in a thread.
        for block in [32, 1] {
            compare(&input, Shape { grid: 1, block });
        }
    }
});
