//! `mul24`: the product of the low 24 bits of two operands, bits 31..0 or 47..16 of it.

use crate::base::ir::{Element, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
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
    let product =
        match (m.get("mode"), ty) {
            (Some(".hi"), ScalarType::U32) => shape::binary(|a: u32, b: u32| (product_u24(a, b) >> 16) as u32)
                .form(|w, _, x| form_of_product(w, "lshr", x, 16)),
            (Some(".hi"), _) => shape::binary(|a: i32, b: i32| (product_s24(a, b) >> 16) as u32)
                .form(|w, _, x| form_of_product(w, "ashr", x, 16)),
            (_, ScalarType::U32) => shape::binary(|a: u32, b: u32| product_u24(a, b) as u32)
                .form(|w, _, x| form_of_product(w, "lshr", x, 0)),
            (_, _) => shape::binary(|a: i32, b: i32| product_s24(a, b) as u32)
                .form(|w, _, x| form_of_product(w, "ashr", x, 0)),
        };
    emit::lanes(l, product, 0, ty, &[ty, ty])
}

/// The native code: 32 bits of a product of 24-bit numbers, which a shift extends, from a bit on.
pub(super) fn form_of_product(w: &mut Writer, shift: &str, x: &[Value], from: u64) -> Value {
    let extension = if shift == "ashr" { "sext" } else { "zext" };
    let [a, b] = [&x[0], &x[1]].map(|x| {
        let top = w.binary_with("shl", x, 8);
        let number = w.binary_with(shift, &top, 8);
        w.convert(extension, &number, Element::I64)
    });
    let product = w.mul(&a, &b);
    let moved = w.binary_with("lshr", &product, from);
    w.bits_as(&moved, Element::I32)
}

/// The product of two unsigned 24-bit numbers; the bits above them do not count.
#[inline(always)]
pub(super) fn product_u24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

/// The product of two signed 24-bit numbers; the bits above them do not count.
#[inline(always)]
pub(super) fn product_s24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
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
