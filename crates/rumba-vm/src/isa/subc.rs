//! `subc`: difference with carry, in chains that begin with `sub.cc`.
//!
//! The flag is the carry of `a + !b + 1`, which is set where nothing is borrowed: the manual leaves open which of the two
//! `CC.CF` holds, and a GPU, which has one kind of chain, shows it where `addc` or `madc` follows `sub.cc`.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;

/// `subc`
pub(super) static SUBC: Instruction = Instruction {
    name: "subc",
    section: "9.7.2.4",
    forms: &[Form {
        syntax: "
            subc{.cc}.type  d, a, b;
            .type = { .u32, .s32, .u64, .s64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

use shape::CarryUse;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    with_borrow(l, m.ty("type")?, CarryUse { reads: true, writes: m.has(".cc") })
}

/// A difference that uses the carry flag, which a chain begins with set.
pub(super) fn with_borrow(l: &mut Lowering<'_>, ty: ScalarType, flag: CarryUse) -> Result<(), LowerError> {
    // The third operand of a carrying operation is not used.
    let difference = match (ty.bits(), flag.reads) {
        (32, true) => shape::carry(|a: u32, b: u32, _, carry| a.carrying_add(!b, carry)),
        (32, false) => shape::carry(|a: u32, b: u32, _, _| a.carrying_add(!b, true)),
        (_, true) => shape::carry(|a: u64, b: u64, _, carry| a.carrying_add(!b, carry)),
        (_, false) => shape::carry(|a: u64, b: u64, _, _| a.carrying_add(!b, true)),
    };
    let (a, b) = (l.source(1, ty)?, l.source(2, ty)?);
    let dst = l.destination(0, ty)?;
    emit::emit(l, difference, flag.extra(), dst, [a, b, a, VReg::None]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check_after;

    #[test]
    fn chains() {
        check_after("sub.cc.u32 %r10, %r1, %r2", "subc.u32 %r0, %r1, %r2", &[(&[1, 2], 0xffff_fffe), (&[2, 1], 1)]);
    }

    #[test]
    fn the_flag_is_set_where_nothing_is_borrowed() {
        for difference in ["sub.cc.u32 %r10, %r1, %r2", "sub.cc.s32 %r10, %r1, %r2"] {
            // What an earlier instruction left does not matter.
            for before in ["add.cc.u32 %r11, 0xffffffff, 1", "add.cc.u32 %r11, 0, 0"] {
                check_after(
                    &format!("{before}; {difference}"),
                    "addc.u32 %r0, %r3, 0",
                    &[(&[1, 2, 7], 7), (&[2, 1, 7], 8), (&[5, 5, 7], 8), (&[0, 0xffff_ffff, 7], 7)],
                );
            }
        }
        check_after(
            "sub.cc.u64 %rd10, %rd1, %rd2",
            "madc.lo.u64 %rd0, %rd3, %rd3, 0",
            &[(&[1, 2, 3], 9), (&[2, 1, 3], 10)],
        );
    }

    #[test]
    fn the_carry_of_a_sum_is_no_borrow() {
        check_after("add.cc.u32 %r10, %r1, %r2", "subc.u32 %r0, %r3, 1", &[(&[0xffff_ffff, 1, 7], 6), (&[1, 1, 7], 5)]);
        check_after(
            "add.cc.u32 %r11, %r1, %r2; subc.cc.u32 %r10, 0, 0",
            "addc.u32 %r0, %r3, 0",
            &[(&[0xffff_ffff, 1, 7], 8), (&[1, 1, 7], 7)],
        );
    }
}
