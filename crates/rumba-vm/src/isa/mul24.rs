//! `mul24`: the product of the low 24 bits of two operands, bits 31..0 or 47..16 of it.

use crate::arith::{Arith, Integer, U32, V};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `mul24`
pub(super) static MUL24: Instruction = Instruction {
    name: "mul24",
    section: "9.7.1.5",
    forms: &[Form {
        syntax: "
            mul24.mode!.type  d, a, b;
            .mode = { .hi, .lo };
            .type = { .u32, .s32 };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let product = match (m.get("mode"), ty) {
        (Some(".hi"), ScalarType::U32) => shape::lanes(function!(|a: u32, b: u32| -> u32 { product(a, b, 16) })),
        (Some(".hi"), _) => shape::lanes(function!(|a: i32, b: i32| -> u32 { product(a, b, 16) })),
        (_, ScalarType::U32) => shape::lanes(function!(|a: u32, b: u32| -> u32 { product(a, b, 0) })),
        (_, _) => shape::lanes(function!(|a: i32, b: i32| -> u32 { product(a, b, 0) })),
    };
    emit::lanes(l, product, 0, ty, &[ty, ty])
}

/// 32 bits of the product of two 24-bit numbers, from bit `from` on; the bits above the numbers do not count.
#[inline(always)]
pub(super) fn product<A: Arith, T: Integer>(a: V<A, T>, b: V<A, T>, from: u32) -> U32<A> {
    let (a, b) = ((a << 8 >> 8).cast::<u64>(), (b << 8 >> 8).cast::<u64>());
    ((a * b) >> from).cast()
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn parts() {
        check("mul24.lo.s32 %r0, %r1, %r2", &[(&[0x00ff_ffff, 2], 0xffff_fffe)]);
        check("mul24.lo.u32 %r0, %r1, %r2", &[(&[0xffff_ffff, 2], 0x01ff_fffe)]);
        check("mul24.hi.u32 %r0, %r1, %r2", &[(&[0x00ff_ffff, 0x00ff_ffff], 0xffff_fe00)]);
    }
}
