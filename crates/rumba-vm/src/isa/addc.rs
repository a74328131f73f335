//! `addc`: sum with the carry flag, in chains that begin with `add.cc`.

use super::Instruction;
use super::emit;
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering, Place};
use crate::types::ScalarType;

/// `addc`
pub(super) static ADDC: Instruction = Instruction {
    name: "addc",
    section: "9.7.2.2",
    syntax: "
        addc{.cc}.type  d, a, b;
        .type = { .u32, .s32, .u64, .s64 };
    ",
    lower,
};

use shape::CarryUse;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    with_carry(
        l,
        m.ty("type")?,
        CarryUse {
            reads: true,
            writes: m.has(".cc"),
        },
    )
}

/// A sum that uses the carry flag.
pub(super) fn with_carry(l: &mut Lowering<'_>, ty: ScalarType, flag: CarryUse) -> Result<(), LowerError> {
    // The third operand of a carrying operation is not used.
    let sum = if ty.bits() == 32 {
        shape::carry(|a: u32, b: u32, _, carry| a.carrying_add(b, carry))
    } else {
        shape::carry(|a: u64, b: u64, _, carry| a.carrying_add(b, carry))
    };
    let (a, b) = (l.source(1, ty)?, l.source(2, ty)?);
    let dst = l.destination(0, ty)?;
    emit::emit(l, sum, flag.extra(), dst, [a, b, a, Place::None]);
    Ok(())
}
