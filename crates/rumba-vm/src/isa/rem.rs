//! `rem`: remainder of the division towards zero.
//!
//! The manual leaves a divisor of zero open; the hardware gives all ones.

use crate::arith::select;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
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

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let remainder = by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::lanes(function!(|a: T, b: T| -> T {
        select(b.eq(0), !0, a - a.quotient(b) * b)
    })));
    emit::lanes(l, remainder, 0, ty, &[ty, ty])
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
