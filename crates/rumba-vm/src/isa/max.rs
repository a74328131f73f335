//! `max`: the larger of two operands, or of three.

use super::Instruction;
use super::emit::{self, by_type};
use super::float::{Extremum, extremum};
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `max`
pub(super) static MAX: Instruction = Instruction {
    name: "max",
    section: "9.7.1.13, 9.7.3.12, 9.7.4.8",
    syntax: "
        max.type         d, a, b;
        max{.relu}.btype d, a, b;
        .type = { .u16, .u32, .u64, .u16x2, .s16, .s64 };
        .btype = { .s16x2, .s32 };

        max{.ftz}{.NaN}{.xorsign.abs}.ftype  d, a, b;
        max{.NaN}{.xorsign.abs}.halves         d, a, b;
        max{.ftz}{.NaN}{.abs}.f32            d, a, b, c;
        max.f64                                d, a, b;
        .ftype = { .f32, .f16, .f16x2 };
        .halves = { .bf16, .bf16x2 };
    ",
    lower,
};

use super::mixed;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let relu = m.has(".relu");
    match m.form() {
        0 | 1 => {
            let ty = m.ty(if m.form() == 0 { "type" } else { "btype" })?;
            let result = match (ty, relu) {
                (ScalarType::S32, true) => shape::binary(|a: i32, b: i32| a.max(b).max(0)),
                (ScalarType::S16x2, true) => shape::binary_halves(|_, a: i16, b: i16| a.max(b).max(0)),
                (ScalarType::S16x2, false) => shape::binary_halves(|_, a: i16, b: i16| a.max(b)),
                (ScalarType::U16x2, _) => shape::binary_halves(|_, a: u16, b: u16| a.max(b)),
                _ => by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::binary(|a: T, b: T| a.max(b))),
            };
            emit::lanes(l, result, 0, ty, &[ty, ty])
        }
        2 => mixed::extremum::<true>(l, m, m.ty("ftype")?),
        3 => mixed::extremum::<true>(l, m, m.ty("halves")?),
        4 => mixed::extremum_of_three::<true>(l, m),
        _ => {
            let which = shape::binary(|a: f64, b: f64| extremum(Extremum { max: true, nan: false }, a, b));
            emit::lanes(l, which, 0, ScalarType::F64, &[ScalarType::F64; 2])
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("max.s32 %r0, %r1, %r2", &[(&[0xffff_ffff, 1], 1)]);
        check("max.u32 %r0, %r1, %r2", &[(&[0xffff_ffff, 1], 0xffff_ffff)]);
        check("max.relu.s32 %r0, %r1, %r2", &[(&[0xffff_fffe, 0xffff_ffff], 0)]);
        check("max.s16x2 %r0, %r1, %r2", &[(&[0xffff_0001, 0x0001_0002], 0x0001_0002)]);
    }

    #[test]
    fn zeros_and_nan() {
        check(
            "max.f32 %r0, %r1, %r2",
            &[
                (&[0x8000_0000, 0], 0),
                (&[0, 0x8000_0000], 0),
                (&[0x7fc0_0000, 0x3f80_0000], 0x3f80_0000),
                (&[0x3f80_0000, 0xffc0_0000], 0x3f80_0000),
                (&[0x7fc0_0000, 0xffc0_0000], 0x7fff_ffff),
            ],
        );
        check(
            "max.NaN.f32 %r0, %r1, %r2",
            &[(&[0x7fc0_0000, 0x3f80_0000], 0x7fff_ffff)],
        );
        check(
            "max.xorsign.abs.f32 %r0, %r1, %r2",
            &[
                (&[0xbf80_0000, 0x4000_0000], 0xc000_0000),
                (&[0x7fc0_0000, 0xffc0_0000], 0x7fff_ffff),
            ],
        );
        check("max.ftz.f32 %r0, %r1, %r2", &[(&[1, 0x8000_0001], 0)]);
        check(
            "max.f16 %h0, %h1, %h2",
            &[(&[0x7e00, 0x3c00], 0x3c00), (&[0x8000, 0], 0)],
        );
        check(
            "max.f64 %rd0, %rd1, %rd2",
            &[(&[0x3ff0_0000_0000_0000, 0xbff0_0000_0000_0000], 0x3ff0_0000_0000_0000)],
        );
        check(
            "max.abs.f32 %r0, %r1, %r2, %r3",
            &[(&[0xc040_0000, 0x4000_0000, 0xbf80_0000], 0x4040_0000)],
        );
    }
}
