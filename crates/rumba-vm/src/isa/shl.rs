//! `shl`: shift left; an amount beyond the width gives zero.

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

/// `shl`
pub(super) static SHL: Instruction = Instruction {
    name: "shl",
    section: "9.7.8.8",
    forms: &[Form {
        syntax: "
            shl.type  d, a, b;
            .type = { .b16, .b32, .b64 };
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
    let shift = by_type!(ty, T: B16 B32 B64 => {
        shape::lanes(function!(|a: T, b: u32| -> T { bits::shl(a, b) }))
    });
    emit::lanes(l, shift, 0, ty, &[ty, ScalarType::U32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn amounts() {
        check("shl.b32 %r0, %r1, %r2", &[(&[1, 0x1f], 0x8000_0000), (&[1, 0x20], 0), (&[1, 0x100], 0)]);
        check("shl.b16 %h0, %h1, %r2", &[(&[1, 0xf], 0x8000), (&[1, 0x10], 0)]);
        check("shl.b64 %rd0, %rd1, %r2", &[(&[1, 0x3f], 0x8000_0000_0000_0000), (&[1, 0x40], 0)]);
    }
}
