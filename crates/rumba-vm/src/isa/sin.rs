//! `sin`: sine of an angle in radians, rounded from `f64` here.

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

/// `sin`
pub(super) static SIN: Instruction = Instruction {
    name: "sin",
    section: "9.7.3.18",
    forms: &[Form {
        syntax: "
            sin.approx{.ftz}.f32  d, a;
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
            Mode(mode).output(math::sin(Mode(mode).input(a)))
        }),
    );
    emit::lanes(l, function, mode.0, ScalarType::F32, &[ScalarType::F32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check("sin.approx.f32 %r0, %r1", &[(&[0], 0), (&[0x7f80_0000], 0x7fff_ffff)]);
    }
}
