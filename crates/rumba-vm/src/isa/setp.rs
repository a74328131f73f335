//! `setp`: a comparison, optionally combined with a predicate; the second destination gets the opposite comparison.

use super::Instruction;
use super::notation::Matched;
use crate::lower::{LowerError, Lowering, Place};
use crate::types::ScalarType;

/// `setp`
pub(super) static SETP: Instruction = Instruction {
    name: "setp",
    section: "9.7.6.2, 9.7.7.2",
    syntax: "
        setp.CmpOp{.ftz}.type          p[|q], a, b;
        setp.CmpOp.BoolOp{.ftz}.type   p[|q], a, b, {!}c;
        .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
        .BoolOp = { .and, .or, .xor };
        .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64, .f16, .f16x2, .bf16, .bf16x2 };
    ",
    lower,
};

use super::comparison::{self, Comparison};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let comparison = Comparison::of(m, "type")?;
    let (p, q) = l.destination_pair(0, ScalarType::Pred)?;
    let packed = comparison::halves(comparison.ty);
    if m.form() == 0 && packed.is_none() && q == Place::None {
        let (a, b) = (l.source(1, comparison.ty)?, l.source(2, comparison.ty)?);
        comparison.emit(l, p, a, b);
        return Ok(());
    }
    let first = comparison.to_scratch(l, 1)?;
    let second = if packed.is_some() {
        Some(comparison.upper().to_scratch(l, 1)?)
    } else {
        None
    };
    comparison::combine(l, m, (p, q), first, second)
}
