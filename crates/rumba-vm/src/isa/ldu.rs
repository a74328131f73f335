//! `ldu`: a load of read-only data that is the same for all lanes; here a load like any other.

use crate::isa::memory;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `ldu`
pub(super) static LDU: Instruction = Instruction {
    name: "ldu",
    section: "9.7.9.10",
    forms: &[Form {
        syntax: "
            ldu{.ss}{.vec}.type d, [a];
            .ss = { .global };
            .vec = { .v2, .v4 };
            .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    memory::lower_load(l, m)
}
