//! `dp2a`: sum of the products of two 16-bit halves with two bytes, added to a third operand.

use crate::arith::bits::{byte, extended};
use crate::arith::{Arith, U32};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `dp2a`
pub(super) static DP2A: Instruction = Instruction {
    name: "dp2a",
    section: "9.7.1.24",
    forms: &[Form {
        syntax: "
            dp2a.mode!.atype.btype  d, a, b, c;
            .mode = { .lo, .hi };
            .atype = { .u32, .s32 };
            .btype = { .u32, .s32 };
        ",
        lower,
    }],
    availability: &[Availability::since((5, 0), 61)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let (a, b) = (m.ty("atype")?, m.ty("btype")?);
    let high = m.get("mode") == Some(".hi");
    let dot = match (a.is_signed(), b.is_signed()) {
        (false, false) => {
            shape::lanes(function!(high; |a: u32, b: u32, c: u32| -> u32 { dot::<_, false, false>(high, a, b, c) }))
        }
        (false, true) => {
            shape::lanes(function!(high; |a: u32, b: u32, c: u32| -> u32 { dot::<_, false, true>(high, a, b, c) }))
        }
        (true, false) => {
            shape::lanes(function!(high; |a: u32, b: u32, c: u32| -> u32 { dot::<_, true, false>(high, a, b, c) }))
        }
        (true, true) => {
            shape::lanes(function!(high; |a: u32, b: u32, c: u32| -> u32 { dot::<_, true, true>(high, a, b, c) }))
        }
    };
    emit::lanes(l, dot, u16::from(high), ScalarType::B32, &[a, b, ScalarType::B32])
}

#[inline(always)]
fn dot<N: Arith, const A: bool, const B: bool>(high: u16, a: U32<N>, b: U32<N>, c: U32<N>) -> U32<N> {
    let b = b >> (u32::from(high) * 16);
    let half = |index: u32| extended::<N, A>(a << (16 - 16 * index), 16);
    c + half(0) * byte::<N, B>(b, 0) + half(1) * byte::<N, B>(b, 1)
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn halves() {
        check("dp2a.lo.s32.s32 %r0, %r1, %r2, %r3", &[(&[0xffff_0002, 0x305, 1], 8)]);
        check("dp2a.hi.u32.u32 %r0, %r1, %r2, %r3", &[(&[0x0001_0002, 0x0305_0000, 1], 0xe)]);
    }
}
