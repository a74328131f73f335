//! `shl`: shift left; an amount beyond the width gives zero.

use std::hint::select_unpredictable as select;

use super::Instruction;
use super::emit::{self, by_type};
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `shl`
pub(super) static SHL: Instruction = Instruction {
    name: "shl",
    section: "9.7.8.8",
    syntax: "
        shl.type  d, a, b;
        .type = { .b16, .b32, .b64 };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let shift = by_type!(ty, T: B16 B32 B64 => shape::binary(|a: T, b: u32| {
        select(b < T::BITS, a << (b & (T::BITS - 1)), 0)
    }));
    emit::lanes(l, shift, 0, ty, &[ty, ScalarType::U32])
}
