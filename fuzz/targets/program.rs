//! Modules of lines that are mostly right, with the shape of a launch.
//!
//! The input chooses lines of the corpus of forms, changes bytes of them, puts labels and branches between them, and the
//! shape of the launch. An input that starts with a dot is taken for a whole module instead.

use std::fmt::Write;
use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{Arbitrary, Unstructured};

const FORMS: &str = include_str!("../../tests/machine/tests/ptxas/forms.txt");
static LINES: LazyLock<Vec<&str>> = LazyLock::new(|| FORMS.lines().collect());

/// A module and how its kernels are launched.
pub struct Input {
    pub text: String,
    pub grid: u32,
    pub block: u32,
    pub parameters: Vec<u64>,
}

impl Input {
    /// Decodes an input of the fuzzer; None if it is too short.
    pub fn of(data: &[u8]) -> Option<Self> {
        if data.starts_with(b".") {
            return Some(Self {
                text: String::from_utf8_lossy(data).into_owned(),
                grid: 2,
                block: 33,
                parameters: vec![0],
            });
        }
        let program = Program::arbitrary(&mut Unstructured::new(data)).ok()?;
        Some(Self {
            text: program.text(),
            grid: 1 + u32::from(program.blocks % 3),
            block: 1 + u32::from(program.threads % 80),
            parameters: program.parameters.to_vec(),
        })
    }
}

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

/// A kernel and its launch.
#[derive(Arbitrary, Debug)]
struct Program {
    steps: Vec<Step>,
    blocks: u8,
    threads: u8,
    parameters: [u64; 4],
}

impl Program {
    fn text(&self) -> String {
        // The initial contents of registers are undefined, and may differ between two runs.
        let mut body = String::new();
        for n in 0..99 {
            let _ = writeln!(body, "mov.b32 %r{n}, {n}; mov.b64 %rd{n}, {n};");
            if n < 10 {
                let _ = writeln!(body, "setp.ne.u32 %p{n}, %r{n}, 4; cvt.u8.u32 %b{n}, %r{n};");
                let _ = writeln!(body, "mov.b16 %h{n}, {n}; mov.b128 %q{n}, {{%rd{n}, %rd{n}}};");
            }
        }
        body.push_str("mov.u32 %r1, %tid.x; mov.b64 %rd20, gmem; setp.eq.u32 %p1, %r1, 3;\n");
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
             {body}\nret;\n}}\n"
        )
    }
}
