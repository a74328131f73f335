//! `neg`: negative. NaN becomes canonical, except in `f64`, where it stays as it is.

use crate::arith::float::{Mode, propagate};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `neg`
pub(super) static NEG: Instruction = Instruction {
    name: "neg",
    section: "9.7.1.11, 9.7.3.10, 9.7.4.5",
    forms: &[
        Form {
            syntax: "
                neg.type  d, a;
                .type = { .s16, .s32, .s64 };
            ",
            lower: integers,
        },
        Form { syntax: "neg{.ftz}.f32  d, a;", lower: single },
        Form { syntax: "neg.f64  d, a;", lower: double },
        Form {
            syntax: "
                neg{.ftz}.type  d, a;
                .type = { .f16, .f16x2 };

                neg.type  d, a;
                .type = { .bf16, .bf16x2 };
            ",
            lower: halves,
        },
    ],
    ..Instruction::NEW
};

use crate::isa::mixed;

fn integers(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let function = by_type!(ty, T: S16 S32 S64 => shape::lanes(function!(|a: T| -> T { -a })));
    emit::lanes(l, function, 0, ty, &[ty])
}

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let function = shape::by_mode(mode, function!(mode; |a: f32| -> f32 { (-Mode(mode).input(a)).canonical() }));
    emit::lanes(l, function, mode.0, ScalarType::F32, &[ScalarType::F32])
}

fn double(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let function = shape::lanes(function!(|a: f64| -> f64 { propagate(-a, a, a) }));
    emit::lanes(l, function, 0, ScalarType::F64, &[ScalarType::F64])
}

fn halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    emit::lanes(l, mixed::signs(ty, function!(|bits: u16| -> u16 { bits ^ 0x8000 }))?, emit::mode(m).0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("neg.s32 %r0, %r1", &[(&[1], 0xffff_ffff), (&[0x8000_0000], 0x8000_0000)]);
        check("neg.s16 %h0, %h1", &[(&[1], 0xffff)]);
    }

    #[test]
    fn floats() {
        check("neg.f32 %r0, %r1", &[(&[0], 0x8000_0000), (&[0x7fc0_0000], 0x7fff_ffff)]);
        check(
            "neg.f64 %rd0, %rd1",
            &[(&[0x7ff0_0000_0000_0001], 0x7ff8_0000_0000_0001), (&[0], 0x8000_0000_0000_0000)],
        );
        check("neg.bf16x2 %r0, %r1", &[(&[0x7fc0_3f80], 0x7fff_bf80)]);
    }
}
