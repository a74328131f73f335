//! `copysign`: the second operand with the sign of the first.

use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

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
    let copy = by_type!(ty, T: F32 F64 => shape::lanes(function!(|a: T, b: T| -> T { b.copysign(a) })));
    emit::lanes(l, copy, 0, ty, &[ty, ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn sign_of_the_first() {
        check(
            "copysign.f32 %r0, %r1, %r2",
            &[(&[0x8000_0000, 0x4000_0000], 0xc000_0000), (&[0, 0xc000_0000], 0x4000_0000)],
        );
        check("copysign.f64 %rd0, %rd1, %rd2", &[(&[0xbff0_0000_0000_0000, 0], 0x8000_0000_0000_0000)]);
    }
}
