//! `szext`: the low bits of an operand, extended with zeros or with their sign.

use std::hint::select_unpredictable as select;

use crate::base::types::ScalarType;
use crate::exec::shape;
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
        (Some(".clamp"), ScalarType::U32) => shape::binary(|a: u32, b: u32| unsigned(a, b.min(32))),
        (Some(".clamp"), _) => shape::binary(|a: i32, b: u32| signed(a, b.min(32))),
        (_, ScalarType::U32) => shape::binary(|a: u32, b: u32| unsigned(a, b & 31)),
        (_, _) => shape::binary(|a: i32, b: u32| signed(a, b & 31)),
    };
    emit::lanes(l, extend, 0, ty, &[ty, ScalarType::U32])
}

#[inline(always)]
fn unsigned(a: u32, bits: u32) -> u32 {
    select(bits == 32, a, a & ((1 << (bits & 31)) - 1))
}

#[inline(always)]
fn signed(a: i32, bits: u32) -> i32 {
    let unused = (32 - bits) & 31;
    select(bits == 0, 0, (a << unused) >> unused)
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
