//! `not`: bitwise complement, of a register or a predicate.

use super::Instruction;
use super::emit::{self, by_type};
use super::notation::Matched;
use super::shape;
use crate::lower::{Draft, LowerError, Lowering};
use crate::types::ScalarType;

/// `not`
pub(super) static NOT: Instruction = Instruction {
    name: "not",
    section: "9.7.8.4",
    syntax: "
        not.type  d, a;
        .type = { .pred, .b16, .b32, .b64 };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    if ty == ScalarType::Pred {
        // Both sources are the operand.
        let (dst, a) = (l.destination(0, ty)?, l.source(1, ty)?);
        l.emit(Draft::binary(shape::predicates(|a, _| !a), dst, a, a));
        return Ok(());
    }
    let complement = by_type!(ty, T: B16 B32 B64 => shape::unary(|a: T| !a));
    emit::lanes(l, complement, 0, ty, &[ty])
}
