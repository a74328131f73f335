//! `prefetch`: a hint that memory will be read. Only its operands are checked.

use super::notation::Matched;
use super::{Instruction, memory};
use crate::check::memory::Space;
use crate::lower::{LowerError, Lowering};

/// `prefetch`
pub(super) static PREFETCH: Instruction = Instruction {
    name: "prefetch",
    section: "9.7.9.16",
    syntax: "
        prefetch{.ss}.level [a];
        prefetch.global.evict [a];
        prefetch{.ss}.tensormap [a];
        .ss = { .global, .local, .const, .param, .generic };
        .level = { .L1, .L2 };
        .evict = { .L2::evict_last, .L2::evict_normal };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let space = match m.get("ss") {
        None if m.form() == 1 => Space::Global,
        Some(".generic") => Space::Generic,
        _ => memory::space_or_local(l, m, 0),
    };
    memory::address(l, 0, space).map(drop)
}
