//! `prmt`: four bytes picked from the eight of two operands, or a fixed pattern of picks.

use crate::arith::{Arith, U32, select};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
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
    macro_rules! by_table {
        ($($table:literal)*) => {
            shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { permute(a, b, selectors([$($table),*], c)) }))
        };
    }
    let permute = match m.get("mode") {
        None => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { permute(a, b, c) })),
        Some(".f4e") => by_table!(0x3210 0x4321 0x5432 0x6543),
        Some(".b4e") => by_table!(0x5670 0x6701 0x7012 0x0123),
        Some(".rc8") => by_table!(0x0000 0x1111 0x2222 0x3333),
        Some(".ecl") => by_table!(0x3210 0x3211 0x3222 0x3333),
        Some(".ecr") => by_table!(0x0000 0x1110 0x2210 0x3210),
        Some(".rc16") => by_table!(0x1010 0x3232 0x1010 0x3232),
        Some(other) => return Err(emit::no_such(other)),
    };
    emit::lanes(l, permute, 0, ScalarType::B32, &[ScalarType::B32; 3])
}

/// Selector bits 2..0 name a byte; bit 3 replaces it by copies of its sign.
#[inline(always)]
fn permute<A: Arith>(a: U32<A>, b: U32<A>, selectors: U32<A>) -> U32<A> {
    let mut result = U32::from(0);
    for position in 0..4 {
        let selector = selectors >> (position * 4);
        let word = select((selector & 4).ne(0), b, a);
        // The byte at the top of a word, of which a shift makes copies of the sign.
        let byte = word << (U32::from(24) - ((selector & 3) << 3));
        let sign = (byte.reinterpret::<i32>() >> 7).reinterpret();
        let byte = select((selector & 8).ne(0), sign, byte);
        result = result | byte >> 24 << (position * 8);
    }
    result
}

/// The selectors of a fixed pattern for a control operand.
#[inline(always)]
fn selectors<A: Arith>(table: [u32; 4], c: U32<A>) -> U32<A> {
    let (is_low, is_even) = ((c & 2).eq(0), (c & 1).eq(0));
    let even = select(is_low, table[0], table[2]);
    let odd = select(is_low, table[1], table[3]);
    select(is_even, even, odd)
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
