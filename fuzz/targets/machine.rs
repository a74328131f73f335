//! Modules of lines that are mostly right: whatever the verifier accepts runs to an end without a panic.
//!
//! `program.rs` describes the inputs.

#![no_main]

mod program;

use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::fuzz_target;
use program::Input;
use rumba_vm::{Config, Device, Launch, Source};

static DEVICE: LazyLock<Mutex<Device>> = LazyLock::new(|| {
    let config = Config {
        memory_bytes: 16 << 20,
        workers: 1,
        instruction_limit: 20_000,
        stack_bytes: 4096,
        ..Config::default()
    };
    let device = Device::new(config).expect("a small device");
    device.set_output(Box::new(|_: &[u8]| {}));
    Mutex::new(device)
});

fn run(text: &str, grid: u32, block: u32, parameters: &[u64]) {
    let device = DEVICE.lock().expect("no input panicked before");
    let source = Source { name: "fuzz.ptx", ptx: text };
    let module = match device.load(&[source]) {
        Ok(module) => module,
        Err(error) => {
            let _ = error.to_string();
            return;
        }
    };
    for function in module.functions() {
        let mut bytes: Vec<u8> = parameters.iter().cycle().take(64).flat_map(|word| word.to_le_bytes()).collect();
        bytes.resize(function.parameter_bytes(), 0);
        let launch = Launch {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared: 0,
            parameters: &bytes,
            cooperative: false,
            cluster: None,
            device: 0,
        };
        if let Err(error) = device.launch(&function, &launch) {
            let _ = error.to_string();
        }
    }
}

fuzz_target!(|data: &[u8]| {
    if let Some(Input { text, grid, block, parameters }) = Input::of(data) {
        run(&text, grid, block, &parameters);
    }
});
