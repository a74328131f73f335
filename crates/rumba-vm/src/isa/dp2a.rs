//! `dp2a`: sum of the products of two 16-bit halves with two bytes, added to a third operand.

use crate::base::types::ScalarType;
use crate::exec::shape;
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

use crate::isa::dp4a::byte;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let (a, b) = (m.ty("atype")?, m.ty("btype")?);
    let high = m.get("mode") == Some(".hi");
    let dot = match (a.is_signed(), b.is_signed()) {
        (false, false) => shape::ternary_with(|high: u16, a: u32, b: u32, c: u32| dot::<false, false>(high, a, b, c)),
        (false, true) => shape::ternary_with(|high: u16, a: u32, b: u32, c: u32| dot::<false, true>(high, a, b, c)),
        (true, false) => shape::ternary_with(|high: u16, a: u32, b: u32, c: u32| dot::<true, false>(high, a, b, c)),
        (true, true) => shape::ternary_with(|high: u16, a: u32, b: u32, c: u32| dot::<true, true>(high, a, b, c)),
    };
    emit::lanes(l, dot, u16::from(high), ScalarType::B32, &[a, b, ScalarType::B32])
}

#[inline(always)]
fn half<const SIGNED: bool>(word: u32, index: u32) -> i32 {
    let top = (word << (16 - 16 * index)) as i32;
    if SIGNED { top >> 16 } else { (top as u32 >> 16) as i32 }
}

#[inline(always)]
fn dot<const A: bool, const B: bool>(high: u16, a: u32, b: u32, c: u32) -> u32 {
    let b = b >> (u32::from(high) * 16);
    let low = half::<A>(a, 0).wrapping_mul(byte::<B>(b, 0));
    let high = half::<A>(a, 1).wrapping_mul(byte::<B>(b, 1));
    (c as i32).wrapping_add(low).wrapping_add(high) as u32
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
