//! `abs`: absolute value. NaN becomes canonical, except in `f64`, where it stays as it is.

use crate::arith::float::{Mode, propagate};
use crate::arith::select;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `abs`
pub(super) static ABS: Instruction = Instruction {
    name: "abs",
    section: "9.7.1.10, 9.7.3.9, 9.7.4.6",
    forms: &[
        Form {
            syntax: "
                abs.type  d, a;
                .type = { .s16, .s32, .s64 };
            ",
            lower: integers,
        },
        Form { syntax: "abs{.ftz}.f32  d, a;", lower: single },
        Form { syntax: "abs.f64  d, a;", lower: double },
        Form {
            syntax: "
                abs{.ftz}.type  d, a;
                .type = { .f16, .f16x2 };

                abs.type  d, a;
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
    let function = by_type!(ty, T: S16 S32 S64 => shape::lanes(function!(|a: T| -> T { select(a.lt(0), -a, a) })));
    emit::lanes(l, function, 0, ty, &[ty])
}

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let function = shape::by_mode(mode, function!(mode; |a: f32| -> f32 { Mode(mode).input(a).abs().canonical() }));
    emit::lanes(l, function, mode.0, ScalarType::F32, &[ScalarType::F32])
}

fn double(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let function = shape::lanes(function!(|a: f64| -> f64 { propagate(a.abs(), a, a) }));
    emit::lanes(l, function, 0, ScalarType::F64, &[ScalarType::F64])
}

fn halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    emit::lanes(l, mixed::signs(ty, function!(|bits: u16| -> u16 { bits & 0x7fff }))?, emit::mode(m).0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn most_negative() {
        check("abs.s32 %r0, %r1", &[(&[5], 5), (&[0xffff_fffb], 5), (&[0x8000_0000], 0x8000_0000)]);
        check("abs.s16 %h0, %h1", &[(&[0x8000], 0x8000), (&[0xffff], 1)]);
        check("abs.s64 %rd0, %rd1", &[(&[0xffff_ffff_ffff_fff9], 7)]);
    }

    #[test]
    fn floats() {
        check(
            "abs.f32 %r0, %r1",
            &[(&[0xbfc0_0000], 0x3fc0_0000), (&[0x8000_0000], 0), (&[0xffc0_0000], 0x7fff_ffff), (&[0x8000_0001], 1)],
        );
        check("abs.ftz.f32 %r0, %r1", &[(&[0x8000_0001], 0)]);
        check(
            "abs.f64 %rd0, %rd1",
            &[(&[0xc000_0000_0000_0000], 0x4000_0000_0000_0000), (&[0xfff8_0000_0000_0001], 0xfff8_0000_0000_0001)],
        );
        check("abs.f16x2 %r0, %r1", &[(&[0xbc00_fe00], 0x3c00_7fff)]);
    }
}
