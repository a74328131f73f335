//! How much of PTX the machine executes, measured against three lists of forms.
//!
//! A form counts as covered if the machine accepts an instruction of it: one with fitting operands is put into a module,
//! which [`Device::load`] has to take. Nothing is concluded from names. What a loaded instruction computes is a matter
//! of other tests.

mod completion;
mod fragments;
mod operands;

use rumba_vm::isa::unsupported;
use rumba_vm::{Device, LoadError, Source};

/// A list of forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct List {
    /// Its name.
    pub name: &'static str,
    /// The contents.
    pub about: &'static str,
    text: &'static str,
}

/// The lists: what LLVM can print, what nvcc printed, what Numba printed, and what is in none of these.
pub const LISTS: [List; 4] = [
    List {
        name: "llvm",
        about: "every form that LLVM 22 can print",
        text: include_str!("../../../data/ptx-llvm22.txt"),
    },
    List {
        name: "nvcc",
        about: "what nvcc 13.5 emitted for 71 programs",
        text: include_str!("../../../data/ptx-nvcc.txt"),
    },
    List {
        name: "numba",
        about: "what Numba's test-suite compiles to",
        text: include_str!("../../../data/ptx-numba.txt"),
    },
    List {
        name: "manual",
        about: "further forms of the PTX manual",
        text: include_str!("../../../data/ptx-manual.txt"),
    },
];

impl List {
    /// The forms: an opcode, and behind a space what its operands are if they do not follow from it: a word for one of
    /// several kinds, or behind a colon the operands themselves.
    pub fn forms(&self) -> Vec<String> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines
            .flat_map(|line| {
                let (opcode, kind) = line.split_at(line.find(' ').unwrap_or(line.len()));
                let opcodes = completion::expand(opcode).into_iter();
                opcodes.map(move |opcode| format!("{opcode}{kind}"))
            })
            .collect()
    }
}

/// Forms that LLVM prints and NVIDIA's assembler refuses, so that no program can have them.
const REFUSED: [&str; 9] = [
    "atom.cta.add.bf16",
    "atom.cta.add.f16",
    "atom.sys.add.bf16",
    "atom.sys.add.f16",
    "fma.rn.ftz.bf16",
    "fma.rn.ftz.relu.bf16",
    "fma.rn.ftz.sat.bf16",
    "fma.rn.sat.bf16",
    "lg2.approx.f64",
];

/// The machine's support of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The machine executes the form.
    Covered,
    /// The form is left out on purpose, for this reason.
    OutOfScope(&'static str),
    /// The machine refuses an instruction of the form.
    Missing {
        /// The instruction.
        instruction: String,
        /// The first line of the refusal.
        reason: String,
    },
}

/// The instructions that a listed form stands for, each a complete statement; `None` for those whose operands are not
/// known.
pub fn statements(listed: &str) -> Vec<Option<String>> {
    let (opcode, kind) = listed.split_once(' ').map_or((listed, None), |(opcode, kind)| (opcode, Some(kind)));
    completion::complete(opcode)
        .into_iter()
        .map(|opcode| match kind {
            Some(kind) => operands::statement(&format!("{opcode} {kind}")),
            None => operands::statement(&opcode),
        })
        .collect()
}

/// A module of one kernel that holds the statement.
pub fn module(statement: &str) -> String {
    operands::module(statement)
}

/// The family of a form: its mnemonic.
pub fn family(listed: &str) -> &str {
    let end = listed.find(['.', ' ']).unwrap_or(listed.len());
    &listed[..end]
}

/// Why a form does not have to be executed; `None` if it has to.
pub fn out_of_scope(listed: &str) -> Option<&'static str> {
    if REFUSED.contains(&listed) {
        return Some("NVIDIA's assembler refuses it");
    }
    let opcode = listed.split(' ').next().unwrap_or(listed);
    let modifiers: Vec<&str> = opcode.split('.').skip(1).collect();
    unsupported::reason(family(listed), &modifiers)
}

/// The machine's support of a form.
pub fn check(device: &Device, listed: &str) -> Verdict {
    if let Some(reason) = out_of_scope(listed) {
        return Verdict::OutOfScope(reason);
    }
    for statement in statements(listed) {
        let Some(statement) = statement else {
            return Verdict::Missing {
                instruction: listed.to_owned(),
                reason: "no operands are known that would suit it".to_owned(),
            };
        };
        if let Err(error) = accepts(device, &statement) {
            return Verdict::Missing { instruction: statement, reason: error };
        }
    }
    Verdict::Covered
}

/// Whether the machine loads a module with this statement.
///
/// # Errors
/// The first line of its refusal.
pub fn accepts(device: &Device, statement: &str) -> Result<(), String> {
    let text = module(statement);
    let source = Source { name: "form.ptx", ptx: &text };
    let module = device.load(&[source]).map_err(|error| match error {
        LoadError::Source(list) => list
            .iter()
            .flat_map(|errors| &errors.diagnostics)
            .map(|diagnostic| diagnostic.message.lines().next().unwrap_or_default().to_owned())
            .next()
            .unwrap_or_default(),
        error @ LoadError::Memory { .. } => error.to_string(),
    })?;
    match module.function("k") {
        Some(_) => Ok(()),
        None => Err("the kernel cannot be launched".to_owned()),
    }
}
