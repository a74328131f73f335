//! `st`: a store, to any state space that can be written, of one element or a vector.
//!
//! Cache hints and eviction priorities change nothing that a program can observe and are ignored.

use super::Instruction;
use super::memory;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering};

/// `st`
pub(super) static ST: Instruction = Instruction {
    name: "st",
    section: "9.7.9.11",
    syntax: "
        st{.mmio}{.sem}{.scope}{.ss}{.cop}{.evict1}{.evict2}{.hint}{.vec}.type [a], b{, policy};
        .sem = { .weak, .volatile, .relaxed, .release };
        .scope = { .cta, .cluster, .gpu, .sys };
        .ss = { .global, .local, .param{::func}, .shared{::cta, ::cluster} };
        .cop = { .wb, .cg, .cs, .wt };
        .evict1 = { .L1::evict_normal, .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate };
        .evict2 = { .L2::evict_normal, .L2::evict_first, .L2::evict_last };
        .hint = { .L2::cache_hint };
        .vec = { .v2, .v4, .v8 };
        .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    memory::lower_store(l, m)
}
