//! `prmt`: four bytes picked from the eight of two operands, or a fixed pattern of picks.

use std::hint::select_unpredictable as select;

use crate::base::ir::{Element, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `prmt`
pub(super) static PRMT: Instruction = Instruction {
    name: "prmt",
    section: "9.7.9.7",
    forms: &[Form {
        syntax: "
            prmt.b32       d, a, b, c;
            prmt.b32.mode  d, a, b, c;
            .mode = { .f4e, .b4e, .rc8, .ecl, .ecr, .rc16 };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    // The fixed patterns: four selectors for each value of the control operand's two low bits.
    let permute = match m.get("mode") {
        None => shape::ternary(permute).form(|w, _, x| form_of_permute(w, [&x[0], &x[1]], &x[2])),
        Some(".f4e") => shape::ternary(|a: u32, b: u32, c: u32| by_table([0x3210, 0x4321, 0x5432, 0x6543], a, b, c)),
        Some(".b4e") => shape::ternary(|a: u32, b: u32, c: u32| by_table([0x5670, 0x6701, 0x7012, 0x0123], a, b, c)),
        Some(".rc8") => shape::ternary(|a: u32, b: u32, c: u32| by_table([0x0000, 0x1111, 0x2222, 0x3333], a, b, c)),
        Some(".ecl") => shape::ternary(|a: u32, b: u32, c: u32| by_table([0x3210, 0x3211, 0x3222, 0x3333], a, b, c)),
        Some(".ecr") => shape::ternary(|a: u32, b: u32, c: u32| by_table([0x0000, 0x1110, 0x2210, 0x3210], a, b, c)),
        Some(".rc16") => shape::ternary(|a: u32, b: u32, c: u32| by_table([0x1010, 0x3232, 0x1010, 0x3232], a, b, c)),
        Some(other) => return Err(emit::no_such(other)),
    };
    emit::lanes(l, permute, 0, ScalarType::B32, &[ScalarType::B32; 3])
}

/// As [`permute`].
fn form_of_permute(w: &mut Writer, [a, b]: [&Value; 2], selectors: &Value) -> Value {
    if let Some(selectors) = selectors.number() {
        return fixed(w, [a, b], selectors);
    }
    let [low, high] = [a, b].map(|x| w.extended(x, Element::I64));
    let high = w.binary_with("shl", &high, 32);
    let both = w.or(&low, &high);
    let mut result = Value::integer(Element::I32, 0);
    for position in 0..4 {
        let selector = w.binary_with("lshr", selectors, position * 4);
        let index = w.and_with(&selector, 7);
        let shift = w.binary_with("shl", &index, 3);
        let shift = w.convert("zext", &shift, Element::I64);
        let byte = w.binary("lshr", &both, &shift);
        let byte = w.bits_as(&byte, Element::I8);
        let copies = w.binary_with("ashr", &byte, 7);
        let sign = w.and_with(&selector, 8);
        let wants_sign = w.compare_with("icmp ne", &sign, 0);
        let byte = w.select(&wants_sign, &copies, &byte);
        let byte = w.convert("zext", &byte, Element::I32);
        let byte = w.binary_with("shl", &byte, position * 8);
        result = w.or(&result, &byte);
    }
    result
}

/// Writes a permutation by constant selectors.
fn fixed(w: &mut Writer, words: [&Value; 2], selectors: u64) -> Value {
    let mut result = Value::integer(Element::I32, 0);
    for position in 0..4 {
        let selector = selectors >> (position * 4) & 15;
        let word = words[(selector >> 2 & 1) as usize];
        let at = (selector & 3) * 8;
        let byte = if selector & 8 == 0 {
            let byte = w.binary_with("lshr", word, at);
            w.and_with(&byte, 0xff)
        } else {
            let top = w.binary_with("shl", word, 24 - at);
            let copies = w.binary_with("ashr", &top, 31);
            w.and_with(&copies, 0xff)
        };
        let byte = w.binary_with("shl", &byte, position * 8);
        result = w.or(&result, &byte);
    }
    result
}

/// Selector bits 2..0 name a byte; bit 3 replaces it by copies of its sign.
#[inline(always)]
fn permute(a: u32, b: u32, selectors: u32) -> u32 {
    let mut result = 0;
    for position in 0..4 {
        let selector = selectors >> (position * 4);
        let word = select(selector & 4 != 0, b, a);
        // The byte at the top of a word, of which a shift makes copies of the sign.
        let byte = word << (24 - (selector & 3) * 8);
        let byte = select(selector & 8 != 0, (byte as i32 >> 7) as u32, byte);
        result |= byte >> 24 << (position * 8);
    }
    result
}

#[inline(always)]
fn by_table(table: [u32; 4], a: u32, b: u32, c: u32) -> u32 {
    let even = select(c & 2 == 0, table[0], table[2]);
    let odd = select(c & 2 == 0, table[1], table[3]);
    permute(a, b, select(c & 1 == 0, even, odd))
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn picks() {
        check(
            "prmt.b32 %r0, %r1, %r2, %r3",
            &[(&[0x3322_1100, 0x7766_5544, 0x7531], 0x7755_3311), (&[0x80, 0, 0x8888], 0xffff_ffff)],
        );
        check("prmt.b32.f4e %r0, %r1, %r2, %r3", &[(&[0x3322_1100, 0x7766_5544, 1], 0x4433_2211)]);
        check("prmt.b32.rc16 %r0, %r1, %r2, %r3", &[(&[0x3322_1100, 0, 1], 0x3322_3322)]);
    }
}
