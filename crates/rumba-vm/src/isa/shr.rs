//! `shr`: shift right, filling with the sign or with zeros; an amount beyond the width leaves the fill only.

use crate::arith::bits;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Extremes, Form, Hazard, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `shr`
pub(super) static SHR: Instruction = Instruction {
    name: "shr",
    section: "9.7.8.9",
    forms: &[Form {
        syntax: "
            shr.type  d, a, b;
            .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64 };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    hazard: Some(Hazard::ShiftBeyondWidth),
    carries: Carries::Value,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let shift = by_type!(ty, T: B16 B32 B64 U16 U32 U64 S16 S32 S64 => {
        shape::lanes(function!(|a: T, b: u32| -> T { bits::shr(a, b) }))
    });
    emit::lanes(l, shift, 0, ty, &[ty, ScalarType::U32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn amounts() {
        check("shr.u32 %r0, %r1, %r2", &[(&[0x8000_0000, 0x1f], 1), (&[0x8000_0000, 0x20], 0)]);
        check("shr.s32 %r0, %r1, %r2", &[(&[0x8000_0000, 0x1f], 0xffff_ffff), (&[0x8000_0000, 0x63], 0xffff_ffff)]);
        check("shr.s16 %h0, %h1, %r2", &[(&[0x8000, 0x14], 0xffff)]);
        check("shr.u64 %rd0, %rd1, %r2", &[(&[0x8000_0000_0000_0000, 0x3f], 1), (&[0x8000_0000_0000_0000, 0x40], 0)]);
    }
}
