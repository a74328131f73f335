//! `copysign`: the second operand with the sign of the first.

use super::emit::{self, by_type};
use super::instruction::{Form, Instruction};
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};

/// `copysign`
pub(super) static COPYSIGN: Instruction = Instruction {
    name: "copysign",
    section: "9.7.3.2",
    forms: &[Form {
        syntax: "
            copysign.type  d, a, b;
            .type = { .f32, .f64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let copy = by_type!(ty, T: F32 F64 => shape::binary(|a: T, b: T| b.copysign(a)));
    emit::lanes(l, copy, 0, ty, &[ty, ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn sign_of_the_first() {
        check(
            "copysign.f32 %r0, %r1, %r2",
            &[
                (&[0x8000_0000, 0x4000_0000], 0xc000_0000),
                (&[0, 0xc000_0000], 0x4000_0000),
            ],
        );
        check(
            "copysign.f64 %rd0, %rd1, %rd2",
            &[(&[0xbff0_0000_0000_0000, 0], 0x8000_0000_0000_0000)],
        );
    }
}
