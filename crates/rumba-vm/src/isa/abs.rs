//! `abs`: absolute value. NaN becomes canonical, except in `f64`, where it stays as it is.

use super::Instruction;
use super::emit::{self, by_type};
use super::float::{Mode, canonical, flush, propagate};
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `abs`
pub(super) static ABS: Instruction = Instruction {
    name: "abs",
    section: "9.7.1.10, 9.7.3.9, 9.7.4.6",
    syntax: "
        abs.type        d, a;
        abs{.ftz}.f32   d, a;
        abs.f64         d, a;
        abs{.ftz}.htype d, a;
        abs.btype       d, a;
        .type = { .s16, .s32, .s64 };
        .htype = { .f16, .f16x2 };
        .btype = { .bf16, .bf16x2 };
    ",
    lower,
};

use super::mixed;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let flush_too = m.has(".ftz");
    let (ty, absolute) = match m.form() {
        0 => {
            let ty = m.ty("type")?;
            (
                ty,
                by_type!(ty, T: S16 S32 S64 => shape::unary(|a: T| a.wrapping_abs())),
            )
        }
        1 if flush_too => (ScalarType::F32, shape::unary(|a: f32| canonical(flush(a).abs()))),
        1 => (ScalarType::F32, shape::unary(|a: f32| canonical(a.abs()))),
        2 => (ScalarType::F64, shape::unary(|a: f64| propagate(a.abs(), a, a))),
        _ => {
            let ty = m.ty(if m.form() == 3 { "htype" } else { "btype" })?;
            (ty, mixed::signs(ty, |sign| sign & 0x7fff)?)
        }
    };
    emit::lanes(l, absolute, Mode::of(m).0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn most_negative() {
        check(
            "abs.s32 %r0, %r1",
            &[(&[5], 5), (&[0xffff_fffb], 5), (&[0x8000_0000], 0x8000_0000)],
        );
        check("abs.s16 %h0, %h1", &[(&[0x8000], 0x8000), (&[0xffff], 1)]);
        check("abs.s64 %rd0, %rd1", &[(&[0xffff_ffff_ffff_fff9], 7)]);
    }

    #[test]
    fn floats() {
        check(
            "abs.f32 %r0, %r1",
            &[
                (&[0xbfc0_0000], 0x3fc0_0000),
                (&[0x8000_0000], 0),
                (&[0xffc0_0000], 0x7fff_ffff),
                (&[0x8000_0001], 1),
            ],
        );
        check("abs.ftz.f32 %r0, %r1", &[(&[0x8000_0001], 0)]);
        check(
            "abs.f64 %rd0, %rd1",
            &[
                (&[0xc000_0000_0000_0000], 0x4000_0000_0000_0000),
                (&[0xfff8_0000_0000_0001], 0xfff8_0000_0000_0001),
            ],
        );
        check("abs.f16x2 %r0, %r1", &[(&[0xbc00_fe00], 0x3c00_7fff)]);
    }
}
