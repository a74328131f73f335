//! `bfi`: a field of bits put into another operand.

use crate::arith::{Arith, U32, bits};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `bfi`
pub(super) static BFI: Instruction = Instruction {
    name: "bfi",
    section: "9.7.1.20",
    forms: &[Form {
        syntax: "
            bfi.type  f, a, b, c, d;
            .type = { .b32, .b64 };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    l.expect_at_most(3, 255)?;
    l.expect_at_most(4, 255)?;
    let inserted = by_type!(ty, T: B32 B64 => shape::lanes(function!(|a: T, b: T, position: u32, length: u32| -> T {
        let (position, length) = (byte(T::BITS, position), byte(T::BITS, length));
        let mask = bits::shl(bits::lowest::<_, T>(length), position);
        (b & !mask) | (bits::shl(a, position) & mask)
    })));
    emit::lanes(l, inserted, 0, ty, &[ty, ty, ScalarType::U32, ScalarType::U32])
}

/// A position or a length: of forms of 32 bits the low eight bits count, of forms of 64 bits all, as on an H200.
#[inline(always)]
pub(super) fn byte<A: Arith>(width: u32, value: U32<A>) -> U32<A> {
    if width == 32 { value & 0xff } else { value.min(0xff) }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn fields() {
        check(
            "bfi.b32 %r0, %r1, %r2, %r3, %r4",
            &[
                (&[0xff, 0, 8, 4], 0xf00),
                (&[0, 0xffff_ffff, 0x1c, 8], 0x0fff_ffff),
                (&[0xff, 0x55, 0x20, 4], 0x55),
                (&[0xff, 0x55, 0, 0], 0x55),
            ],
        );
        check("bfi.b64 %rd0, %rd1, %rd2, %r3, %r4", &[(&[1, 0, 0x3f, 1], 0x8000_0000_0000_0000)]);
    }
}
