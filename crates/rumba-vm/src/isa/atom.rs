//! `atom`: an atomic read-modify-write that gives what was there before.

use super::notation::Matched;
use super::{Instruction, atomic};
use crate::lower::{LowerError, Lowering};

/// `atom`
pub(super) static ATOM: Instruction = Instruction {
    name: "atom",
    section: "9.7.13.5",
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
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    atomic::lower(l, m, true)
}
