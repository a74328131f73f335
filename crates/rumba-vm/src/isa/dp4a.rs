//! `dp4a`: sum of four products of bytes, added to a third operand.

use crate::base::ir::{Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
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
        (false, false) => shape::ternary(|a: u32, b: u32, c: u32| dot::<false, false>(a, b, c))
            .form(|w, _, x| form_of_dot(w, [false, false], x)),
        (false, true) => shape::ternary(|a: u32, b: u32, c: u32| dot::<false, true>(a, b, c))
            .form(|w, _, x| form_of_dot(w, [false, true], x)),
        (true, false) => shape::ternary(|a: u32, b: u32, c: u32| dot::<true, false>(a, b, c))
            .form(|w, _, x| form_of_dot(w, [true, false], x)),
        (true, true) => shape::ternary(|a: u32, b: u32, c: u32| dot::<true, true>(a, b, c))
            .form(|w, _, x| form_of_dot(w, [true, true], x)),
    };
    emit::lanes(l, dot, 0, ScalarType::B32, &[a, b, ScalarType::B32])
}

/// Writes native code, given which operands are signed.
fn form_of_dot(w: &mut Writer, signed: [bool; 2], x: &[Value]) -> Value {
    let mut sum = x[2].clone();
    for index in 0..4 {
        let [a, b] = [0, 1].map(|operand| {
            let top = w.binary_with("shl", &x[operand], 24 - 8 * index);
            w.binary_with(if signed[operand] { "ashr" } else { "lshr" }, &top, 24)
        });
        let product = w.mul(&a, &b);
        sum = w.add(&sum, &product);
    }
    sum
}

/// Byte `index` of a word.
#[inline(always)]
pub(super) fn byte<const SIGNED: bool>(word: u32, index: u32) -> i32 {
    let top = (word << (24 - 8 * index)) as i32;
    if SIGNED { top >> 24 } else { (top as u32 >> 24) as i32 }
}

#[inline(always)]
fn dot<const A: bool, const B: bool>(a: u32, b: u32, c: u32) -> u32 {
    let mut sum = c as i32;
    for index in 0..4 {
        sum = sum.wrapping_add(byte::<A>(a, index) * byte::<B>(b, index));
    }
    sum as u32
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
