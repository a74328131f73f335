//! `multimem`: loads, stores and reductions at the same place in the memory of several devices. The machine has one
//! device, so each instruction accesses one place: a load reduces a single value.
//!
//! The semantics follow the manual alone: `tests/machine/tests/it/transfers` has no results of a GPU for them, since these
//! instructions take addresses of multicast objects only, which are made for the links between several GPUs (CUDA
//! Driver API, "Multicast Object Management").

use crate::isa::{atomic, memory};
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction, Memory};
use crate::lower::notation::Matched;

/// `multimem`
pub(super) static MULTIMEM: Instruction = Instruction {
    name: "multimem",
    section: "9.7.9.14",
    forms: &[
        Form {
            syntax: "
                multimem.ld_reduce!{.sem}{.scope}{.ss}.op.type  d, [a];
                .sem = { .weak, .relaxed, .acquire };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .op = { .min, .max, .add, .and, .or, .xor };
                .type = { .b32, .b64, .u32, .u64, .s32, .s64, .f64 };
                multimem.ld_reduce!{.sem}{.scope}{.ss}.op{.acc_prec}{.vec}.type  d, [a];
                .sem = { .weak, .relaxed, .acquire };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .op = { .min, .max, .add };
                .acc_prec = { .acc::f32 };
                .vec = { .v2, .v4, .v8 };
                .type = { .f16, .f16x2, .bf16, .bf16x2, .f32 };
            ",
            lower: |l, m| {
                expect_size(m)?;
                memory::lower_load(l, m)
            },
        },
        Form {
            syntax: "
                multimem.st!{.sem}{.scope}{.ss}.type  [a], b;
                .sem = { .weak, .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .type = { .b32, .b64, .u32, .u64, .s32, .s64, .f64 };
                multimem.st!{.sem}{.scope}{.ss}{.vec}.type  [a], b;
                .sem = { .weak, .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .vec = { .v2, .v4, .v8 };
                .type = { .f16, .f16x2, .bf16, .bf16x2, .f32 };
            ",
            lower: |l, m| {
                expect_size(m)?;
                memory::lower_store(l, m)
            },
        },
        Form {
            syntax: "
                multimem.red!{.sem}{.scope}{.ss}.op.type  [a], b;
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .op = { .min, .max, .add, .and, .or, .xor };
                .type = { .b32, .b64, .u32, .u64, .s32, .s64 };
                multimem.red!{.sem}{.scope}{.ss}.add.type  [a], b;
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .type = { .f16, .f16x2, .bf16, .bf16x2, .f32, .f64 };
                multimem.red!{.sem}{.scope}{.ss}.add.vec.half  [a], b;
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .vec = { .v2, .v4, .v8 };
                .half = { .f16, .bf16 };
                multimem.red!{.sem}{.scope}{.ss}.add.vec.pair  [a], b;
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .vec = { .v2, .v4 };
                .pair = { .f16x2, .bf16x2 };
                multimem.red!{.sem}{.scope}{.ss}.add.vec.f32  [a], b;
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global };
                .vec = { .v2, .v4 };
            ",
            lower: |l, m| atomic::lower(l, m, false),
        },
    ],
    availability: &[Availability::since((8, 1), 90)],
    memory: Memory::Accesses,
    carries: Carries::Nothing,
    ..Instruction::NEW
};

/// A load or store of numbers has 32, 64 or 128 bits. There are no sums of `.s64`.
fn expect_size(m: &Matched<'_>) -> Result<(), LowerError> {
    if (m.get("op"), m.get("type")) == (Some(".add"), Some(".s64")) {
        return Err(LowerError::new("`.add` is for .u64 where it is of 64 bits"));
    }
    let count = match m.get("vec") {
        Some(".v2") => 2,
        Some(".v4") => 4,
        Some(".v8") => 8,
        _ => 1,
    };
    match m.ty("type")?.bits() * count {
        32 | 64 | 128 => Ok(()),
        bits => Err(LowerError::new(format!("a value of {bits} bits: 32, 64 and 128 are possible here"))),
    }
}
