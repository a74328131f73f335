//! Modules of lines that are mostly right: whatever the verifier accepts runs to an end without a panic.
//!
//! The input chooses lines of the corpus of forms, changes bytes of them, puts labels and branches between them, and the
//! shape of the launch. An input that starts with a dot is taken for a whole module instead.

#![no_main]

use std::fmt::Write;
use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use rumba_vm::{Config, Device, Launch, Source};

const FORMS: &str = include_str!("../../crates/rumba-vm/tests/ptxas/forms.txt");
static LINES: LazyLock<Vec<&str>> = LazyLock::new(|| FORMS.lines().collect());

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

/// One step of a kernel.
#[derive(Arbitrary, Debug)]
enum Step {
    Form(u16),
    Changed { form: u16, at: u8, byte: u8 },
    Guarded { form: u16, predicate: u8, negated: bool },
    Branch { predicate: u8, to: u8 },
    Set { register: u8, wide: bool, value: u32 },
    Address { register: u8, symbol: u8, offset: i16 },
    Compare { predicate: u8, a: u8, b: u8 },
    Call,
}

#[derive(Arbitrary, Debug)]
struct Program {
    steps: Vec<Step>,
    blocks: u8,
    threads: u8,
    parameters: [u64; 4],
}

impl Program {
    fn text(&self) -> String {
        let mut body = String::new();
        let form = |index: u16| LINES[usize::from(index) % LINES.len()];
        let count = self.steps.len().clamp(1, 40);
        for (position, step) in self.steps.iter().take(40).enumerate() {
            let _ = writeln!(body, "L{position}:");
            let _ = match step {
                Step::Form(index) => writeln!(body, "{}", form(*index)),
                Step::Changed { form: index, at, byte } => {
                    let mut bytes = form(*index).as_bytes().to_vec();
                    let at = usize::from(*at) % bytes.len();
                    bytes[at] = *byte & 0x7f;
                    writeln!(body, "{}", String::from_utf8_lossy(&bytes))
                }
                Step::Guarded { form: index, predicate, negated } => {
                    writeln!(body, "@{}%p{} {}", if *negated { "!" } else { "" }, predicate % 10, form(*index))
                }
                Step::Branch { predicate, to } => {
                    writeln!(body, "@%p{} bra L{};", predicate % 10, usize::from(*to) % count)
                }
                Step::Set { register, wide: false, value } => writeln!(body, "mov.b32 %r{}, {value};", register % 99),
                Step::Set { register, wide: true, value } => writeln!(body, "mov.b64 %rd{}, {value};", register % 99),
                Step::Address { register, symbol, offset } => {
                    let symbol = ["gmem", "smem", "lmem", "cmem"][usize::from(*symbol) % 4];
                    writeln!(body, "mov.b64 %rd{}, {symbol}+{};", register % 99, offset.unsigned_abs())
                }
                Step::Compare { predicate, a, b } => {
                    writeln!(body, "setp.lt.u32 %p{}, %r{}, %r{};", predicate % 10, a % 99, b % 99)
                }
                Step::Call => writeln!(body, "call callee;"),
            };
        }
        format!(
            ".version 9.1\n.target sm_100a\n.address_size 64\n\
             .shared .align 128 .b8 smem[4096];\n.global .align 128 .b8 gmem[4096];\n.const .align 128 .b8 cmem[4096];\n\
             .func callee()\n{{\nret;\n}}\n.func taker(.param .align 32 .b8 argument[32])\n{{\nret;\n}}\n\
             .visible .entry k(.param .align 128 .b8 in[256])\n{{\n.reg .pred %p<10>; .reg .b8 %b<10>; .reg .b16 %h<10>;\n\
             .reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .b128 %q<10>; .local .align 128 .b8 lmem[1024];\n\
             mov.u32 %r1, %tid.x; mov.b64 %rd20, gmem; setp.eq.u32 %p1, %r1, 3;\n{body}\nret;\n}}\n"
        )
    }
}

fn run(text: &str, grid: u32, block: u32, parameters: &[u64]) {
    let device = DEVICE.lock().expect("no input panicked before");
    let source = Source {
        name: "fuzz.ptx",
        ptx: text,
    };
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
        };
        if let Err(error) = device.launch(&function, &launch) {
            let _ = error.to_string();
        }
    }
}

fuzz_target!(|data: &[u8]| {
    if data.starts_with(b".") {
        run(&String::from_utf8_lossy(data), 2, 33, &[0]);
        return;
    }
    if let Ok(program) = Program::arbitrary(&mut Unstructured::new(data)) {
        let (grid, block) = (1 + u32::from(program.blocks % 3), 1 + u32::from(program.threads % 80));
        run(&program.text(), grid, block, &program.parameters);
    }
});
