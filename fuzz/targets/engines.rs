//! Modules of lines that are mostly right: native code and the interpreter leave the same memory and report the same.
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
use rumba_vm::{Config, Device, Engine, Launch, Source};

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

/// What can be seen of launches: of those that fail, how.
#[derive(Debug, PartialEq)]
struct Seen {
    /// For each kernel, in their order, how its launch ended.
    outcomes: Vec<String>,
    findings: Vec<String>,
    memory: Vec<u8>,
    output: Vec<u8>,
}

/// Runs the kernels of a module; with the address of its memory. Nothing if it is refused.
fn run(input: &Input, engine: Engine) -> Option<(u64, Seen)> {
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
    let mut outcomes = Vec::new();
    let mut has_failed = false;
    for function in functions {
        let mut parameters: Vec<u8> =
            input.parameters.iter().cycle().take(64).flat_map(|word| word.to_le_bytes()).collect();
        parameters.resize(function.parameter_bytes(), 0);
        let launch = Launch {
            grid: [input.grid, 1, 1],
            block: [input.block, 1, 1],
            dynamic_shared: 0,
            parameters: &parameters,
            cooperative: false,
            cluster: None,
        };
        outcomes.push(match device.launch(&function, &launch) {
            Ok(_) => "ended".to_owned(),
            // Which thread faults first is the schedule's, and so is how far the others have come.
            Err(error) => {
                has_failed = true;
                let error = error.to_string();
                // How many instructions a launch has executed when its limit ends it depends on where the engine looks.
                error.lines().next().unwrap_or_default().split(": the launch executed ").next().unwrap_or_default().to_owned()
            }
        });
    }
    let mut memory = vec![0; bytes];
    if bytes > 0 && !has_failed {
        // SAFETY: no launch is under way, and the variable is there while the module is.
        unsafe { device.read(start, &mut memory) }.expect("a variable can be read");
    }
    let found = if has_failed { Vec::new() } else { device.take_findings() };
    let findings = found.iter().map(|finding| format!("{finding:?}")).collect();
    let mut output = std::mem::take(&mut *output.lock().expect("it is only written"));
    if has_failed {
        output.clear();
    }
    Some((start, Seen { outcomes, findings, memory, output }))
}

fuzz_target!(|data: &[u8]| {
    let Some(input) = Input::of(data) else { return };
    if input.text.contains("clock") || input.text.contains("globaltimer") {
        return;
    }
    let Some((start, expected)) = run(&input, Engine::interpreter()) else { return };
    let (again, seen) = run(&input, NATIVE.clone()).expect("what is loaded once is loaded again");
    if start != again {
        // The system gave the second device other addresses: nothing can be compared.
        return;
    }
    assert!(seen == expected, "native: {seen:?}\ninterpreted: {expected:?}\n{}", input.text);
});
