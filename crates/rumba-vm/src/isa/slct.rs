//! `slct`: one of two operands, by the sign of a third: the first if it is zero or more.

use std::hint::select_unpredictable as select;

use super::Instruction;
use super::emit;
use super::float::flush;
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `slct`
pub(super) static SLCT: Instruction = Instruction {
    name: "slct",
    section: "9.7.6.4",
    syntax: "
        slct.dtype.s32        d, a, b, c;
        slct{.ftz}.dtype.f32  d, a, b, c;
        .dtype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("dtype")?;
    let (control, choose) = match (m.form(), m.has(".ftz"), ty.bits()) {
        (0, _, 64) => (
            ScalarType::S32,
            shape::ternary(|a: u64, b: u64, c: i32| select(c >= 0, a, b)),
        ),
        (0, _, _) => (
            ScalarType::S32,
            shape::ternary(|a: u32, b: u32, c: i32| select(c >= 0, a, b)),
        ),
        (_, false, 64) => (
            ScalarType::F32,
            shape::ternary(|a: u64, b: u64, c: f32| select(c >= 0.0, a, b)),
        ),
        (_, false, _) => (
            ScalarType::F32,
            shape::ternary(|a: u32, b: u32, c: f32| select(c >= 0.0, a, b)),
        ),
        (_, true, 64) => (
            ScalarType::F32,
            shape::ternary(|a: u64, b: u64, c: f32| select(flush(c) >= 0.0, a, b)),
        ),
        (_, true, _) => (
            ScalarType::F32,
            shape::ternary(|a: u32, b: u32, c: f32| select(flush(c) >= 0.0, a, b)),
        ),
    };
    emit::lanes(l, choose, 0, ty, &[ty, ty, control])
}
