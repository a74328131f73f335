//! `bfe`: a field of bits, extended with zeros or with its sign.

use crate::arith::{U32, bits, select};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::bfi::byte;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `bfe`
pub(super) static BFE: Instruction = Instruction {
    name: "bfe",
    section: "9.7.1.19",
    forms: &[Form {
        syntax: "
            bfe.type  d, a, b, c;
            .type = { .u32, .u64, .s32, .s64 };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    l.expect_at_most(2, 255)?;
    l.expect_at_most(3, 255)?;
    let extract = if ty.is_signed() {
        by_type!(ty, T: S32 S64 => shape::lanes(function!(|a: T, position: u32, length: u32| -> T {
            let (position, length) = (byte(T::BITS, position), byte(T::BITS, length));
            // The place behind the field, at most that behind the highest bit: the bits above it are shifted out.
            let above = U32::from(T::BITS) - (position + length).min(T::BITS);
            let field = bits::shr(bits::shr(bits::shl(a, above), above), position);
            select(length.eq(0), 0, field)
        })))
    } else {
        by_type!(ty, T: U32 U64 => shape::lanes(function!(|a: T, position: u32, length: u32| -> T {
            let (position, length) = (byte(T::BITS, position), byte(T::BITS, length));
            bits::shr(a, position) & bits::lowest::<_, T>(length)
        })))
    };
    emit::lanes(l, extract, 0, ty, &[ty, ScalarType::U32, ScalarType::U32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn fields() {
        check(
            "bfe.u32 %r0, %r1, %r2, %r3",
            &[
                (&[0xabcd_1234, 8, 8], 0x12),
                (&[0xffff_ffff, 0, 0], 0),
                (&[0xffff_ffff, 0x1c, 0x20], 0xf),
                (&[0xffff_ffff, 0x20, 4], 0),
                (&[0xabcd_1234, 0x108, 8], 0x12),
            ],
        );
        check(
            "bfe.s32 %r0, %r1, %r2, %r3",
            &[
                (&[0xf000, 0xc, 4], 0xffff_ffff),
                (&[0x8000_0000, 0x28, 3], 0xffff_ffff),
                (&[0xff, 4, 0], 0),
                (&[0x8000_0000, 0x1c, 0x10], 0xffff_fff8),
            ],
        );
        check("bfe.s64 %rd0, %rd1, %r2, %r3", &[(&[0x8000_0000_0000_0000, 0x3c, 8], 0xffff_ffff_ffff_fff8)]);
        check("bfe.u64 %rd0, %rd1, %r2, %r3", &[(&[0xffff_ffff_ffff_ffff, 0x3c, 8], 0xf)]);
    }
}
