//! `dp4a`: sum of four products of bytes, added to a third operand.

use crate::arith::bits::byte;
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

/// `dp4a`
pub(super) static DP4A: Instruction = Instruction {
    name: "dp4a",
    section: "9.7.1.23",
    forms: &[Form {
        syntax: "
            dp4a.atype.btype  d, a, b, c;
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
    let dot = match (a.is_signed(), b.is_signed()) {
        (false, false) => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { dot::<_, false, false>(a, b, c) })),
        (false, true) => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { dot::<_, false, true>(a, b, c) })),
        (true, false) => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { dot::<_, true, false>(a, b, c) })),
        (true, true) => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { dot::<_, true, true>(a, b, c) })),
    };
    emit::lanes(l, dot, 0, ScalarType::B32, &[a, b, ScalarType::B32])
}

#[inline(always)]
fn dot<N: Arith, const A: bool, const B: bool>(a: U32<N>, b: U32<N>, c: U32<N>) -> U32<N> {
    (0..4).fold(c, |sum, index| sum + byte::<N, A>(a, index) * byte::<N, B>(b, index))
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn signs() {
        check("dp4a.s32.s32 %r0, %r1, %r2, %r3", &[(&[0xff02_0304, 0x0101_0101, 0xa], 0x12)]);
        check("dp4a.u32.u32 %r0, %r1, %r2, %r3", &[(&[0xff02_0304, 0x0101_0101, 0xa], 0x112)]);
        check("dp4a.u32.s32 %r0, %r1, %r2, %r3", &[(&[0xff, 0xff, 0], 0xffff_ff01)]);
    }
}
