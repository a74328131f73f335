//! `ld`: a load, from any state space, of one element or a vector.
//!
//! Cache hints, eviction priorities and prefetch sizes change nothing that a program can observe and are ignored.

use crate::isa::memory;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Memory};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `ld`
pub(super) static LD: Instruction = Instruction {
    name: "ld",
    section: "9.7.9.8, 9.7.9.9",
    forms: &[Form {
        syntax: "
            ld{.mmio}{.sem}{.scope}{.ss}{.cop}{.nc}{.evict1}{.evict2}{.hint}{.prefetch}{.vec}.type d, [a]{, policy};
            .sem = { .weak, .volatile, .relaxed, .acquire };
            .scope = { .cta, .cluster, .gpu, .sys };
            .ss = { .const, .global, .local, .param{::entry, ::func}, .shared{::cta, ::cluster} };
            .cop = { .ca, .cg, .cs, .lu, .cv };
            .evict1 = { .L1::evict_normal, .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate };
            .evict2 = { .L2::evict_normal, .L2::evict_first, .L2::evict_last };
            .hint = { .L2::cache_hint };
            .prefetch = { .L2::64B, .L2::128B, .L2::256B };
            .vec = { .v2, .v4, .v8 };
            .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };
        ",
        lower,
    }],
    availability: &[
        Availability::since((9, 1), 0).with(&[".volatile", ".local"]),
        Availability::since((6, 0), 70).with(&[".acquire"]),
        Availability::since((6, 0), 70).with(&[".relaxed"]),
        Availability::since((7, 8), 90).with(&[".cluster"]),
        Availability::since((8, 3), 70).with(&[".b128"]),
        Availability::since((8, 8), 100).with(&[".v8"]),
    ],
    memory: Memory::Accesses,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    memory::lower_load(l, m)
}
