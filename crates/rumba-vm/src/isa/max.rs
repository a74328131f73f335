//! `max`: the larger of two operands, or of three.

use super::Instruction;
use super::emit::{self, by_type};
use super::float::{Extremum, extremum};
use super::lane::Pair;
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
        max{.ftz}{.NaN}{.abs}.f32            d, a, b, c;
        max.f64                                d, a, b;
        .ftype = { .f32, .f16, .f16x2, .bf16, .bf16x2 };
    ",
    lower,
};

use super::mixed;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let relu = m.has(".relu");
    match m.form() {
        0 | 1 => {
            let ty = m.ty(if m.form() == 0 { "type" } else { "btype" })?;
            let result = if relu {
                match ty {
                    ScalarType::S32 => shape::binary(|a: i32, b: i32| a.max(b).max(0)),
                    _ => shape::binary(|a: Pair<i16>, b: Pair<i16>| a.zip(b, |a, b| a.max(b).max(0))),
                }
            } else {
                by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::binary(|a: T, b: T| a.max(b))
                    ; U16x2 S16x2 => shape::binary(|a: T, b: T| a.zip(b, |a, b| a.max(b))))
            };
            emit::lanes(l, result, 0, ty, &[ty, ty])
        }
        2 => mixed::extremum::<true>(l, m, m.ty("ftype")?),
        3 => mixed::extremum_of_three::<true>(l, m),
        _ => {
            let which = shape::binary(|a: f64, b: f64| extremum(Extremum { max: true, nan: false }, a, b));
            emit::lanes(l, which, 0, ScalarType::F64, &[ScalarType::F64; 2])
        }
    }
}
