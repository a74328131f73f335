//! `bfind`: the position of the highest bit that is not a copy of the sign, or all ones.
//!
//! With `.shiftamt`, the shift that would bring that bit to the top.

use crate::arith::{Arith, Integer, U32, V, select};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `bfind`
pub(super) static BFIND: Instruction = Instruction {
    name: "bfind",
    section: "9.7.1.16",
    forms: &[Form {
        syntax: "
            bfind.type           d, a;
            bfind.shiftamt.type  d, a;
            .type = { .u32, .u64, .s32, .s64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let find = if m.has(".shiftamt") {
        by_type!(ty, T: U32 U64 S32 S64 => shape::lanes(function!(|a: T| -> u32 {
            let zeros = without_sign(a).leading_zeros().cast::<u32>();
            select(zeros.eq(T::BITS), u32::MAX, zeros)
        })))
    } else {
        by_type!(ty, T: U32 U64 S32 S64 => shape::lanes(function!(|a: T| -> u32 {
            U32::from(T::BITS - 1) - without_sign(a).leading_zeros().cast::<u32>()
        })))
    };
    emit::lanes(l, find, 0, ScalarType::U32, &[ty])
}

/// A number whose highest one is the highest bit of `a` that differs from its sign.
#[inline(always)]
fn without_sign<A: Arith, T: Integer>(a: V<A, T>) -> V<A, T> {
    if T::IS_SIGNED { a ^ (a >> (T::BITS - 1)) } else { a }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn nothing_to_find() {
        check("bfind.u32 %r0, %r1", &[(&[0], 0xffff_ffff), (&[0x10], 4)]);
        check(
            "bfind.s32 %r0, %r1",
            &[(&[0], 0xffff_ffff), (&[0xffff_ffff], 0xffff_ffff), (&[0xffff_fffe], 0), (&[0x8000_0000], 0x1e)],
        );
        check("bfind.shiftamt.u32 %r0, %r1", &[(&[0x10], 0x1b), (&[0], 0xffff_ffff)]);
        check("bfind.s64 %r0, %rd1", &[(&[0x8000_0000_0000_0000], 0x3e)]);
    }
}
