//! `bfi`: a field of bits put into another operand.

use std::hint::select_unpredictable as select;

use crate::base::ir::{Element, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit::by_type;
use crate::isa::{emit, form};
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
    let inserted = by_type!(ty, T: B32 B64 => shape::quaternary(|a: T, b: T, position: u32, length: u32| {
        let (position, length) = (byte(T::BITS, position), byte(T::BITS, length));
        let mask: T = select(length < T::BITS, (1 << (length & (T::BITS - 1))) - 1, T::MAX);
        let shift = position & (T::BITS - 1);
        let mask = select(position < T::BITS, mask << shift, 0);
        (b & !mask) | ((a << shift) & mask)
    }))
    .form(insert);
    emit::lanes(l, inserted, 0, ty, &[ty, ty, ScalarType::U32, ScalarType::U32])
}

/// Writes the native code.
fn insert(w: &mut Writer, _: u16, x: &[Value]) -> Value {
    let element = x[0].element();
    let bits = u64::from(element.bits());
    let [position, length] = [&x[2], &x[3]].map(|x| form_of_byte(w, bits, x));
    let one = Value::integer(element, 1);
    let above = form::shift(w, "shl", &[one, length.clone()]);
    // Without a bit above the field, these are all.
    let mask = w.sub_with(&above, 1);
    let mask = form::shift(w, "shl", &[mask, position.clone()]);
    let moved = form::shift(w, "shl", &[x[0].clone(), position]);
    let field = w.and(&moved, &mask);
    let others = w.xor_with(&mask, u64::MAX);
    let others = w.and(&x[1], &others);
    w.or(&field, &others)
}

/// As [`byte`].
pub(super) fn form_of_byte(w: &mut Writer, width: u64, x: &Value) -> Value {
    if width == 32 {
        w.and_with(x, 0xff)
    } else {
        let most = Value::integer(Element::I32, 0xff);
        w.intrinsic("umin", &[x, &most])
    }
}

/// A position or a length: of forms of 32 bits the low eight bits count, of forms of 64 bits all, as on an H200.
#[inline(always)]
pub(super) fn byte(width: u32, value: u32) -> u32 {
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
