//! `rem`: remainder of the division towards zero.
//!
//! The manual leaves a divisor of zero open; the hardware gives all ones.

use std::hint::select_unpredictable as select;

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::{emit, form};
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Hazard, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `rem`
pub(super) static REM: Instruction = Instruction {
    name: "rem",
    section: "9.7.1.9",
    forms: &[Form {
        syntax: "
            rem.type  d, a, b;
            .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
        ",
        lower,
    }],
    hazard: Some(Hazard::ZeroDivisor),
    ..Instruction::NEW
};

use crate::isa::div::{divide_s32, divide_u32};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let remainder = match ty {
        ScalarType::U16 => shape::binary(|a: u16, b: u16| remainder_u32(a.into(), b.into()) as u16),
        ScalarType::S16 => shape::binary(|a: i16, b: i16| remainder_s32(a.into(), b.into()) as i16),
        ScalarType::U32 => shape::binary(remainder_u32),
        ScalarType::S32 => shape::binary(remainder_s32),
        ScalarType::U64 => shape::binary(|a: u64, b: u64| a.checked_rem(b).unwrap_or(u64::MAX)),
        ScalarType::S64 => shape::binary(|a: i64, b: i64| if b == 0 { -1 } else { a.wrapping_rem(b) }),
        other => return Err(emit::no_such(other)),
    };
    let remainder = if ty.is_signed() {
        remainder.form(|w, _, x| form::remainder(w, true, x))
    } else {
        remainder.form(|w, _, x| form::remainder(w, false, x))
    };
    emit::lanes(l, remainder, 0, ty, &[ty, ty])
}

#[inline(always)]
fn remainder_u32(a: u32, b: u32) -> u32 {
    select(b == 0, u32::MAX, a.wrapping_sub(divide_u32(a, b).wrapping_mul(b)))
}

#[inline(always)]
fn remainder_s32(a: i32, b: i32) -> i32 {
    select(b == 0, -1, a.wrapping_sub(divide_s32(a, b).wrapping_mul(b)))
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn by_zero_and_overflow() {
        check("rem.u32 %r0, %r1, %r2", &[(&[7, 3], 1), (&[7, 0], 0xffff_ffff)]);
        check(
            "rem.s32 %r0, %r1, %r2",
            &[(&[0xffff_fff9, 3], 0xffff_ffff), (&[0x8000_0000, 0xffff_ffff], 0), (&[7, 0xffff_fffd], 1)],
        );
        check(
            "rem.s64 %rd0, %rd1, %rd2",
            &[(&[0x8000_0000_0000_0000, 0xffff_ffff_ffff_ffff], 0), (&[7, 0], 0xffff_ffff_ffff_ffff)],
        );
        check("rem.s16 %h0, %h1, %h2", &[(&[0xfff9, 3], 0xffff)]);
    }
}
