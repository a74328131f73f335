//! `bfe`: a field of bits, extended with zeros or with its sign.

use std::hint::select_unpredictable as select;

use crate::base::ir::{Element, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::bfi::{byte, form_of_byte};
use crate::isa::emit::by_type;
use crate::isa::{emit, form};
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

/// Writes the native code for a field without a sign.
fn unsigned(w: &mut Writer, _: u16, x: &[Value]) -> Value {
    let element = x[0].element();
    let bits = u64::from(element.bits());
    let [position, length] = [&x[1], &x[2]].map(|x| form_of_byte(w, bits, x));
    let shifted = form::shift(w, "lshr", &[x[0].clone(), position]);
    let one = Value::integer(element, 1);
    let above = form::shift(w, "shl", &[one, length.clone()]);
    let mask = w.binary_with("sub", &above, 1);
    let short = w.compare_with("icmp ult", &length, bits);
    let all = Value::integer(element, u64::MAX);
    let mask = w.select(&short, &mask, &all);
    w.binary("and", &shifted, &mask)
}

/// Writes the native code for a field with a sign.
fn signed(w: &mut Writer, _: u16, x: &[Value]) -> Value {
    let element = x[0].element();
    let bits = u64::from(element.bits());
    let [position, length] = [&x[1], &x[2]].map(|x| form_of_byte(w, bits, x));
    let none = w.compare_with("icmp eq", &length, 0);
    // The place behind the field, at most that behind the highest bit: what lies above it is shifted out.
    let end = w.add(&position, &length);
    let most = Value::integer(Element::I32, bits);
    let end = w.intrinsic("umin", &[&end, &most]);
    let above = w.sub(&most, &end);
    let field = form::shift(w, "shl", &[x[0].clone(), above.clone()]);
    let field = form::shift(w, "ashr", &[field, above]);
    let field = form::shift(w, "ashr", &[field, position]);
    let zero = Value::integer(element, 0);
    w.select(&none, &zero, &field)
}

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    l.expect_at_most(2, 255)?;
    l.expect_at_most(3, 255)?;
    let extract = if ty.is_signed() {
        by_type!(ty, T: S32 S64 => shape::ternary(|a: T, position: u32, length: u32| {
            let (position, length) = (byte(T::BITS, position), byte(T::BITS, length));
            let msb = T::BITS - 1;
            // The fill comes from the field's last bit, or from the top if the field reaches beyond it.
            let last = (position + length.max(1) - 1).min(msb);
            let field = (a << (msb - last)) >> (msb - last) >> position.min(msb);
            select(length == 0, 0, select(position > msb, a >> msb, field))
        }))
        .form(signed)
    } else {
        by_type!(ty, T: U32 U64 => shape::ternary(|a: T, position: u32, length: u32| {
            let (position, length) = (byte(T::BITS, position), byte(T::BITS, length));
            let shifted = select(position < T::BITS, a >> (position & (T::BITS - 1)), 0);
            let mask = select(length < T::BITS, (1 << (length & (T::BITS - 1))) - 1, T::MAX);
            shifted & mask
        }))
        .form(unsigned)
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
