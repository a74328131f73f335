//! `createpolicy`: a cache policy, which is a number that other instructions take as a hint and ignore here.
//!
//! The number is not the one that a GPU makes: programs have no use for its bits.

use crate::base::types::ScalarType;
use crate::isa::memory::copy;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::program::Class;

/// `createpolicy`
pub(super) static CREATEPOLICY: Instruction = Instruction {
    name: "createpolicy",
    section: "9.7.9.18",
    forms: &[
        Form {
            syntax: "
                createpolicy.range!{.global}.primary{.secondary}.b64  d, [a], bytes, total;
                .primary = { .L2::evict_last, .L2::evict_normal, .L2::evict_first, .L2::evict_unchanged };
                .secondary = { .L2::evict_first, .L2::evict_unchanged };
            ",
            lower: |l, _| {
                l.address(1)?;
                l.source(2, ScalarType::U32)?;
                l.source(3, ScalarType::U32)?;
                let policy = l.constant(ScalarType::U64, 0);
                emit(l, policy)
            },
        },
        Form {
            syntax: "
                createpolicy.fractional!.primary{.secondary}.b64  d{, fraction};
                .primary = { .L2::evict_last, .L2::evict_normal, .L2::evict_first, .L2::evict_unchanged };
                .secondary = { .L2::evict_first, .L2::evict_unchanged };
            ",
            lower: |l, _| {
                if l.operand_count() == 2 {
                    l.source(1, ScalarType::F32)?;
                }
                let policy = l.constant(ScalarType::U64, 0);
                emit(l, policy)
            },
        },
        Form {
            syntax: "createpolicy.cvt!.L2.b64  d, property;",
            lower: |l, _| {
                let policy = l.source(1, ScalarType::U64)?;
                emit(l, policy)
            },
        },
    ],
    ..Instruction::NEW
};

fn emit(l: &mut Lowering<'_>, policy: VReg) -> Result<(), LowerError> {
    let dst = l.destination(0, ScalarType::U64)?;
    l.emit(VirtualOp::unary(copy(Class::W64), dst, policy));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn a_policy_is_a_number() {
        check("createpolicy.fractional.L2::evict_last.b64 %rd0, 0.25", &[(&[], 0)]);
        check("createpolicy.cvt.L2.b64 %rd0, %rd1", &[(&[0x10f0_0000_0000_0000], 0x10f0_0000_0000_0000)]);
    }
}
