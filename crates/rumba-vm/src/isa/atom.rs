//! `atom`: an atomic read-modify-write that returns the old value.

use crate::isa::atomic;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Memory, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `atom`
pub(super) static ATOM: Instruction = Instruction {
    name: "atom",
    section: "9.7.13.5",
    forms: &[Form {
        syntax: "
            atom{.sem}{.scope}{.ss}.op{.hint}.type d, [a], b{, policy};
            .sem = { .relaxed, .acquire, .release, .acq_rel };
            .scope = { .cta, .cluster, .gpu, .sys };
            .ss = { .global, .shared{::cta, ::cluster} };
            .op = { .and, .or, .xor, .exch, .add, .inc, .dec, .min, .max };
            .hint = { .L2::cache_hint };
            .type = { .b32, .b64, .b128, .u32, .u64, .s32, .s64, .f32, .f64 };

            atom{.sem}{.scope}{.ss}.cas{.hint}.type d, [a], b, c{, policy};
            .sem = { .relaxed, .acquire, .release, .acq_rel };
            .scope = { .cta, .cluster, .gpu, .sys };
            .ss = { .global, .shared{::cta, ::cluster} };
            .hint = { .L2::cache_hint };
            .type = { .b16, .b32, .b64, .b128 };

            atom{.sem}{.scope}{.ss}.add.noftz{.hint}.type d, [a], b{, policy};
            .sem = { .relaxed, .acquire, .release, .acq_rel };
            .scope = { .cta, .cluster, .gpu, .sys };
            .ss = { .global, .shared{::cta, ::cluster} };
            .hint = { .L2::cache_hint };
            .type = { .f16, .f16x2, .bf16, .bf16x2 };

            atom{.sem}{.scope}{.global}.add{.hint}.vec.f32         d, [a], b{, policy};
            atom{.sem}{.scope}{.global}.op.noftz{.hint}.vec.pair   d, [a], b{, policy};
            atom{.sem}{.scope}{.global}.op.noftz{.hint}.vec8.half  d, [a], b{, policy};
            .sem = { .relaxed, .acquire, .release, .acq_rel };
            .scope = { .cta, .cluster, .gpu, .sys };
            .op = { .add, .min, .max };
            .hint = { .L2::cache_hint };
            .vec = { .v2, .v4 };
            .vec8 = { .v2, .v4, .v8 };
            .pair = { .f16x2, .bf16x2 };
            .half = { .f16, .bf16 };
        ",
        lower,
    }],
    availability: &[
        Availability::since((7, 8), 90).with(&[".cluster"]),
        Availability::since((8, 3), 90).with(&[".b128"]),
        Availability::since((5, 0), 60).with(&[".add", ".f64"]),
        Availability::since((7, 8), 90).with(&[".bf16"]),
        Availability::since((7, 8), 90).with(&[".bf16x2"]),
        Availability::since((6, 2), 60).with(&[".f16x2"]),
        Availability::since((6, 3), 70).with(&[".f16"]),
        Availability::since((6, 3), 70).with(&[".b16"]),
        Availability::since((6, 0), 70).with(&[".relaxed"]),
        Availability::since((6, 0), 70).with(&[".acquire"]),
        Availability::since((6, 0), 70).with(&[".release"]),
        Availability::since((6, 0), 70).with(&[".acq_rel"]),
        Availability::since((8, 1), 90).with(&[".v2"]),
        Availability::since((8, 1), 90).with(&[".v4"]),
    ],
    optional_result: true,
    memory: Memory::Accesses,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    atomic::lower(l, m, true)
}
