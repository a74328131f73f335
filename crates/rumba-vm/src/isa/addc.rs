//! `addc`: sum with the carry flag, in chains that begin with `add.cc`.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;

/// `addc`
pub(super) static ADDC: Instruction = Instruction {
    name: "addc",
    section: "9.7.2.2",
    forms: &[Form {
        syntax: "
            addc{.cc}.type  d, a, b;
            .type = { .u32, .s32, .u64, .s64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

use shape::CarryUse;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    with_carry(l, m.ty("type")?, CarryUse { reads: true, writes: m.has(".cc") })
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
    emit::emit(l, sum, flag.extra(), dst, [a, b, a, VReg::None]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check_after;

    #[test]
    fn chains() {
        check_after(
            "add.cc.u32 %r10, %r1, %r1",
            "addc.u32 %r0, %r1, %r2",
            &[(&[0x8000_0000, 1], 0x8000_0002), (&[1, 1], 2)],
        );
        check_after(
            "add.cc.u64 %rd10, %rd1, 1; addc.cc.u64 %rd11, %rd1, 0",
            "addc.u64 %rd0, 0, %rd2",
            &[(&[0xffff_ffff_ffff_ffff, 7], 8), (&[5, 7], 7)],
        );
    }
}
