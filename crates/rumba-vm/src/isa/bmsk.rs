//! `bmsk`: a mask of ones with a start position and a width.

use crate::arith::{Arith, U32, bits};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `bmsk`
pub(super) static BMSK: Instruction = Instruction {
    name: "bmsk",
    section: "9.7.1.22",
    forms: &[Form {
        syntax: "
            bmsk.mode.b32  d, a, b;
            .mode = { .clamp, .wrap };
        ",
        lower,
    }],
    availability: &[Availability::since((7, 6), 70)],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mask = if m.get("mode") == Some(".clamp") {
        shape::lanes(function!(|a: u32, b: u32| -> u32 { mask(a, b) }))
    } else {
        shape::lanes(function!(|a: u32, b: u32| -> u32 { mask(a & 31, b & 31) }))
    };
    emit::lanes(l, mask, 0, ScalarType::B32, &[ScalarType::U32, ScalarType::U32])
}

#[inline(always)]
fn mask<A: Arith>(position: U32<A>, length: U32<A>) -> U32<A> {
    bits::shl(bits::lowest(length), position)
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn modes() {
        check("bmsk.clamp.b32 %r0, %r1, %r2", &[(&[4, 8], 0xff0), (&[0x28, 1], 0), (&[0, 0x28], 0xffff_ffff)]);
        check("bmsk.wrap.b32 %r0, %r1, %r2", &[(&[0x24, 8], 0xff0)]);
    }
}
