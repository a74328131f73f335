//! `tanh`: hyperbolic tangent, rounded from `f64` here.

use crate::arith::math;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `tanh`
pub(super) static TANH: Instruction = Instruction {
    name: "tanh",
    section: "9.7.3.22, 9.7.4.9",
    forms: &[
        Form { syntax: "tanh.approx.f32  d, a;", lower: single },
        Form {
            syntax: "
                tanh.approx.type  d, a;
                .type = { .f16, .f16x2, .bf16, .bf16x2 };
            ",
            lower: halves,
        },
    ],
    availability: &[Availability::since((7, 0), 75)],
    ..Instruction::NEW
};

use crate::isa::mixed;

fn single(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let tangent = shape::lanes(function!(|a: f32| -> f32 { math::tanh(a).canonical() }));
    emit::lanes(l, tangent, 0, ScalarType::F32, &[ScalarType::F32])
}

fn halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    emit::lanes(l, mixed::half_function(ty, function!(|a: f32| -> f32 { math::tanh(a) }))?, 0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check(
            "tanh.approx.f32 %r0, %r1",
            &[(&[0], 0), (&[0x7f80_0000], 0x3f80_0000), (&[0xff80_0000], 0xbf80_0000), (&[0x7fc0_0000], 0x7fff_ffff)],
        );
        check("tanh.approx.bf16 %h0, %h1", &[(&[0xc2c8], 0xbf80)]);
    }
}
