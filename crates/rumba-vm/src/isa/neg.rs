//! `neg`: negative. NaN becomes canonical, except in `f64`, where it stays as it is.

use super::Instruction;
use super::emit::{self, by_type};
use super::float::{Mode, canonical, flush, propagate};
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `neg`
pub(super) static NEG: Instruction = Instruction {
    name: "neg",
    section: "9.7.1.11, 9.7.3.10, 9.7.4.5",
    syntax: "
        neg.type        d, a;
        neg{.ftz}.f32   d, a;
        neg.f64         d, a;
        neg{.ftz}.htype d, a;
        neg.btype       d, a;
        .type = { .s16, .s32, .s64 };
        .htype = { .f16, .f16x2 };
        .btype = { .bf16, .bf16x2 };
    ",
    lower,
};

use super::mixed;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let flush_too = m.has(".ftz");
    let (ty, negative) = match m.form() {
        0 => {
            let ty = m.ty("type")?;
            (
                ty,
                by_type!(ty, T: S16 S32 S64 => shape::unary(|a: T| a.wrapping_neg())),
            )
        }
        1 if flush_too => (ScalarType::F32, shape::unary(|a: f32| canonical(-flush(a)))),
        1 => (ScalarType::F32, shape::unary(|a: f32| canonical(-a))),
        2 => (ScalarType::F64, shape::unary(|a: f64| propagate(-a, a, a))),
        _ => {
            let ty = m.ty(if m.form() == 3 { "htype" } else { "btype" })?;
            (ty, mixed::signs(ty, |sign| sign ^ 0x8000)?)
        }
    };
    emit::lanes(l, negative, Mode::of(m).0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check(
            "neg.s32 %r0, %r1",
            &[(&[1], 0xffff_ffff), (&[0x8000_0000], 0x8000_0000)],
        );
        check("neg.s16 %h0, %h1", &[(&[1], 0xffff)]);
    }

    #[test]
    fn floats() {
        check(
            "neg.f32 %r0, %r1",
            &[(&[0], 0x8000_0000), (&[0x7fc0_0000], 0x7fff_ffff)],
        );
        check(
            "neg.f64 %rd0, %rd1",
            &[
                (&[0x7ff0_0000_0000_0001], 0x7ff8_0000_0000_0001),
                (&[0], 0x8000_0000_0000_0000),
            ],
        );
        check("neg.bf16x2 %r0, %r1", &[(&[0x7fc0_3f80], 0x7fff_bf80)]);
    }
}
