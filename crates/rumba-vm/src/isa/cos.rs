//! `cos`: cosine of an angle in radians, rounded from `f64` here.

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

/// `cos`
pub(super) static COS: Instruction = Instruction {
    name: "cos",
    section: "9.7.3.19",
    forms: &[Form {
        syntax: "
            cos.approx{.ftz}.f32  d, a;
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
            Mode(mode).output(math::cos(Mode(mode).input(a)))
        }),
    );
    emit::lanes(l, function, mode.0, ScalarType::F32, &[ScalarType::F32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check("cos.approx.f32 %r0, %r1", &[(&[0], 0x3f80_0000), (&[0xff80_0000], 0x7fff_ffff)]);
    }
}
