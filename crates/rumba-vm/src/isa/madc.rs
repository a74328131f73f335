//! `madc`: half of a product, plus a third operand and the carry flag.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;

/// `madc`
pub(super) static MADC: Instruction = Instruction {
    name: "madc",
    section: "9.7.2.6",
    forms: &[Form {
        syntax: "
            madc.half!{.cc}.type  d, a, b, c;
            .half = { .hi, .lo };
            .type = { .u32, .s32, .u64, .s64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

use shape::CarryUse;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let flag = CarryUse { reads: true, writes: m.has(".cc") };
    with_carry(l, m.ty("type")?, m.get("half") == Some(".hi"), flag)
}

/// Half of a product plus a third operand, using the carry flag.
pub(super) fn with_carry(l: &mut Lowering<'_>, ty: ScalarType, high: bool, flag: CarryUse) -> Result<(), LowerError> {
    let sum = match (high, ty) {
        (false, ScalarType::U32 | ScalarType::S32) => {
            shape::carry(|a: u32, b: u32, c, carry| a.wrapping_mul(b).carrying_add(c, carry))
        }
        (false, _) => shape::carry(|a: u64, b: u64, c, carry| a.wrapping_mul(b).carrying_add(c, carry)),
        (true, ScalarType::U32) => shape::carry(|a: u32, b: u32, c, carry| {
            (((u64::from(a) * u64::from(b)) >> 32) as u32).carrying_add(c, carry)
        }),
        (true, ScalarType::S32) => shape::carry(|a: i32, b: i32, c, carry| {
            let high = (i64::from(a) * i64::from(b)) >> 32;
            let (sum, carry) = (high as u32).carrying_add(c as u32, carry);
            (sum as i32, carry)
        }),
        (true, ScalarType::U64) => shape::carry(|a: u64, b: u64, c, carry| {
            (((u128::from(a) * u128::from(b)) >> 64) as u64).carrying_add(c, carry)
        }),
        (true, _) => shape::carry(|a: i64, b: i64, c, carry| {
            let high = (i128::from(a) * i128::from(b)) >> 64;
            let (sum, carry) = (high as u64).carrying_add(c as u64, carry);
            (sum as i64, carry)
        }),
    };
    let (a, b, c) = (l.source(1, ty)?, l.source(2, ty)?, l.source(3, ty)?);
    let dst = l.destination(0, ty)?;
    emit::emit(l, sum, flag.extra(), dst, [a, b, c, VReg::None]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check_after;

    #[test]
    fn chains() {
        check_after(
            "mad.lo.cc.u32 %r10, %r1, %r2, %r3",
            "madc.hi.u32 %r0, %r1, %r2, 0",
            &[(&[0xffff_ffff, 0xffff_ffff, 0xffff_ffff], 0xffff_ffff), (&[2, 3, 4], 0)],
        );
        check_after(
            "add.cc.u32 %r10, %r1, 1",
            "madc.lo.s32 %r0, %r2, %r3, 0",
            &[(&[0xffff_ffff, 2, 3], 7), (&[0, 2, 3], 6)],
        );
    }
}
