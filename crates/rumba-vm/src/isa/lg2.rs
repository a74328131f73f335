//! `lg2`: logarithm to the base 2, rounded from `f64` here.

use crate::arith::float::Mode;
use crate::arith::math;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `lg2`
pub(super) static LG2: Instruction = Instruction {
    name: "lg2",
    section: "9.7.3.20",
    forms: &[Form {
        syntax: "
            lg2.approx{.ftz}.f32  d, a;
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let function = shape::by_mode(
        mode,
        function!(mode; |a: f32| -> f32 {
            Mode(mode).output(math::lg2(Mode(mode).input(a)))
        }),
    );
    emit::lanes(l, function, mode.0, ScalarType::F32, &[ScalarType::F32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check(
            "lg2.approx.f32 %r0, %r1",
            &[
                (&[0x4100_0000], 0x4040_0000),
                (&[0], 0xff80_0000),
                (&[0xbf80_0000], 0x7fff_ffff),
                (&[0x7f80_0000], 0x7f80_0000),
                (&[0x3f80_0000], 0),
                (&[1], 0xc315_0000),
            ],
        );
        check("lg2.approx.ftz.f32 %r0, %r1", &[(&[1], 0xff80_0000)]);
    }
}
