//! `ex2`: power of 2, rounded from `f64` here.

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

/// `ex2`
pub(super) static EX2: Instruction = Instruction {
    name: "ex2",
    section: "9.7.3.21, 9.7.4.10",
    forms: &[
        Form { syntax: "ex2.approx{.ftz}.f32  d, a;", lower: single },
        Form {
            syntax: "
                ex2.approx.type      d, a;
                .type = { .f16, .f16x2 };

                ex2.approx.ftz.type  d, a;
                .type = { .bf16, .bf16x2 };
            ",
            lower: halves,
        },
    ],
    ..Instruction::NEW
};

use crate::isa::mixed;

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let power = shape::by_mode(
        mode,
        function!(mode; |a: f32| -> f32 {
            Mode(mode).output(math::ex2(Mode(mode).input(a)))
        }),
    );
    emit::lanes(l, power, mode.0, ScalarType::F32, &[ScalarType::F32])
}

fn halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    emit::lanes(l, mixed::half_function(ty, function!(|a: f32| -> f32 { math::ex2(a) }))?, emit::mode(m).0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check(
            "ex2.approx.f32 %r0, %r1",
            &[
                (&[0x4040_0000], 0x4100_0000),
                (&[0], 0x3f80_0000),
                (&[0xc315_0000], 1),
                (&[0x4348_0000], 0x7f80_0000),
                (&[0xff80_0000], 0),
                (&[0x7fc0_0000], 0x7fff_ffff),
            ],
        );
        check("ex2.approx.ftz.f32 %r0, %r1", &[(&[0xc315_0000], 0)]);
        check("ex2.approx.f16x2 %r0, %r1", &[(&[0x3c00_4000], 0x4000_4400)]);
    }
}
