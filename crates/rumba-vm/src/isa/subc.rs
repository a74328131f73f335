//! `subc`: difference with the borrow that the carry flag holds, in chains that begin with `sub.cc`.

use super::Instruction;
use super::emit;
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering, Place};
use crate::types::ScalarType;

/// `subc`
pub(super) static SUBC: Instruction = Instruction {
    name: "subc",
    section: "9.7.2.4",
    syntax: "
        subc{.cc}.type  d, a, b;
        .type = { .u32, .s32, .u64, .s64 };
    ",
    lower,
};

use shape::CarryUse;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    with_borrow(
        l,
        m.ty("type")?,
        CarryUse {
            reads: true,
            writes: m.has(".cc"),
        },
    )
}

/// A difference that uses the carry flag as borrow.
pub(super) fn with_borrow(l: &mut Lowering<'_>, ty: ScalarType, flag: CarryUse) -> Result<(), LowerError> {
    // The third operand of a carrying operation is not used.
    let difference = if ty.bits() == 32 {
        shape::carry(|a: u32, b: u32, _, borrow| a.borrowing_sub(b, borrow))
    } else {
        shape::carry(|a: u64, b: u64, _, borrow| a.borrowing_sub(b, borrow))
    };
    let (a, b) = (l.source(1, ty)?, l.source(2, ty)?);
    let dst = l.destination(0, ty)?;
    emit::emit(l, difference, flag.extra(), dst, [a, b, a, Place::None]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check_after;

    #[test]
    fn chains() {
        check_after(
            "sub.cc.u32 %r10, %r1, %r2",
            "subc.u32 %r0, %r1, %r2",
            &[(&[1, 2], 0xffff_fffe), (&[2, 1], 1)],
        );
    }
}
