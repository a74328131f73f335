//! `szext`: the low bits of an operand, extended with zeros or with their sign.

use crate::arith::{Arith, Integer, U32, V, bits};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `szext`
pub(super) static SZEXT: Instruction = Instruction {
    name: "szext",
    section: "9.7.1.21",
    forms: &[Form {
        syntax: "
            szext.mode.type  d, a, b;
            .mode = { .clamp, .wrap };
            .type = { .u32, .s32 };
        ",
        lower,
    }],
    availability: &[Availability::since((7, 6), 70)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let extend = match (m.get("mode"), ty) {
        (Some(".clamp"), ScalarType::U32) => shape::lanes(function!(|a: u32, b: u32| -> u32 { extended(a, b) })),
        (Some(".clamp"), _) => shape::lanes(function!(|a: i32, b: u32| -> i32 { extended(a, b) })),
        (_, ScalarType::U32) => shape::lanes(function!(|a: u32, b: u32| -> u32 { extended(a, b & 31) })),
        (_, _) => shape::lanes(function!(|a: i32, b: u32| -> i32 { extended(a, b & 31) })),
    };
    emit::lanes(l, extend, 0, ty, &[ty, ScalarType::U32])
}

/// The lowest bits of a number, up to 32 of them.
#[inline(always)]
fn extended<A: Arith, T: Integer>(a: V<A, T>, bits: U32<A>) -> V<A, T> {
    let unused = U32::from(32) - bits.min(32);
    bits::shr(bits::shl(a, unused), unused)
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn modes() {
        check(
            "szext.clamp.s32 %r0, %r1, %r2",
            &[(&[0x80, 8], 0xffff_ff80), (&[0xff, 0], 0), (&[0x8000_0000, 0x28], 0x8000_0000)],
        );
        check("szext.wrap.u32 %r0, %r1, %r2", &[(&[0xffff, 0x28], 0xff), (&[0xffff, 0x20], 0)]);
    }
}
