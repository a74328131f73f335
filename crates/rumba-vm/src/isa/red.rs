//! `red`: an atomic read-modify-write that does not return the old value.

use crate::isa::{atomic, mbarrier};
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Memory, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `red`
pub(super) static RED: Instruction = Instruction {
    name: "red",
    section: "9.7.13.7",
    forms: &[
        Form {
            syntax: "
                red{.sem}{.scope}{.ss}.op{.hint}.type [a], b{, policy};
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global, .shared{::cta, ::cluster} };
                .op = { .and, .or, .xor, .add, .inc, .dec, .min, .max };
                .hint = { .L2::cache_hint };
                .type = { .b32, .b64, .u32, .u64, .s32, .s64, .f32, .f64 };

                red{.sem}{.scope}{.ss}.add.noftz{.hint}.type [a], b{, policy};
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global, .shared{::cta, ::cluster} };
                .hint = { .L2::cache_hint };
                .type = { .f16, .f16x2, .bf16, .bf16x2 };

                red{.sem}{.scope}{.global}.add{.hint}.vec.f32         [a], b{, policy};
                red{.sem}{.scope}{.global}.op.noftz{.hint}.vec.pair   [a], b{, policy};
                red{.sem}{.scope}{.global}.op.noftz{.hint}.vec8.half  [a], b{, policy};
                .sem = { .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .op = { .add, .min, .max };
                .hint = { .L2::cache_hint };
                .vec = { .v2, .v4 };
                .vec8 = { .v2, .v4, .v8 };
                .pair = { .f16x2, .bf16x2 };
                .half = { .f16, .bf16 };
            ",
            lower: |l, m| atomic::lower(l, m, false),
        },
        Form {
            syntax: "
                red.async!{.sem}{.scope}{.ss}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar];
                .sem = { .relaxed };
                .scope = { .cluster };
                .ss = { .shared::cluster };
                .op = { .inc, .dec, .min, .max, .add, .and, .or, .xor };
                .type = { .b32, .u32, .s32, .u64 };
            ",
            lower: lower_async,
        },
    ],
    availability: &[
        Availability::since((7, 8), 90).with(&[".cluster"]),
        Availability::since((6, 0), 70).with(&[".relaxed"]),
        Availability::since((6, 0), 70).with(&[".release"]),
        Availability::since((5, 0), 60).with(&[".add", ".f64"]),
        Availability::since((8, 1), 90).with(&[".v2"]),
        Availability::since((8, 1), 90).with(&[".v4"]),
    ],
    memory: Memory::Accesses,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower_async(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    atomic::lower(l, m, false)?;
    // It may come at any time up to the wait that asks for it: here it comes at once.
    let bytes = m.ty("type")?.bytes();
    mbarrier::lower_complete(l, 2, bytes)
}
