//! `prefetch`: a hint that memory will be read. Only its operands are checked.

use crate::exec::memory::Space;
use crate::isa::memory;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `prefetch`
pub(super) static PREFETCH: Instruction = Instruction {
    name: "prefetch",
    section: "9.7.9.16",
    forms: &[
        Form {
            syntax: "
                prefetch{.ss}.level      [a];
                prefetch{.ss}.tensormap  [a];
                .ss = { .global, .local, .const, .param, .generic };
                .level = { .L1, .L2 };
            ",
            lower,
        },
        Form {
            syntax: "
                prefetch.global.evict  [a];
                .evict = { .L2::evict_last, .L2::evict_normal };
            ",
            lower: |l, _| memory::address(l, 0, Space::Global).map(drop),
        },
    ],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let space = match m.get("ss") {
        Some(".generic") => Space::Generic,
        _ => memory::space_or_local(l, m, 0),
    };
    memory::address(l, 0, space).map(drop)
}
