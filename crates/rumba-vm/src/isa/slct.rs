//! `slct`: one of two operands, by the sign of a third: the first if it is zero or more.

use crate::arith::float::flush;
use crate::arith::select;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `slct`
pub(super) static SLCT: Instruction = Instruction {
    name: "slct",
    section: "9.7.6.4",
    forms: &[
        Form {
            syntax: "
                slct.dtype.s32  d, a, b, c;
                .dtype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
            ",
            lower: by_integer,
        },
        Form {
            syntax: "
                slct{.ftz}.dtype.f32  d, a, b, c;
                .dtype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
            ",
            lower: by_float,
        },
    ],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

fn by_integer(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("dtype")?;
    let choose = if ty.bits() == 64 {
        shape::lanes(function!(|a: u64, b: u64, c: i32| -> u64 { select(c.ge(0), a, b) }))
    } else {
        shape::lanes(function!(|a: u32, b: u32, c: i32| -> u32 { select(c.ge(0), a, b) }))
    };
    emit::lanes(l, choose, 0, ty, &[ty, ty, ScalarType::S32])
}

fn by_float(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("dtype")?;
    let choose = match (m.has(".ftz"), ty.bits()) {
        (false, 64) => shape::lanes(function!(|a: u64, b: u64, c: f32| -> u64 { select(c.ge(0.0), a, b) })),
        (false, _) => shape::lanes(function!(|a: u32, b: u32, c: f32| -> u32 { select(c.ge(0.0), a, b) })),
        (true, 64) => shape::lanes(function!(|a: u64, b: u64, c: f32| -> u64 { select(flush(c).ge(0.0), a, b) })),
        (true, _) => shape::lanes(function!(|a: u32, b: u32, c: f32| -> u32 { select(flush(c).ge(0.0), a, b) })),
    };
    emit::lanes(l, choose, 0, ty, &[ty, ty, ScalarType::F32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn sign_of_the_third() {
        check("slct.b32.s32 %r0, %r1, %r2, %r3", &[(&[1, 2, 0], 1), (&[1, 2, 0x8000_0000], 2)]);
        check(
            "slct.b64.f32 %rd0, %rd1, %rd2, %r3",
            &[(&[1, 2, 0x8000_0000], 1), (&[1, 2, 0x7fc0_0000], 2), (&[1, 2, 0x8000_0001], 2)],
        );
        check("slct.ftz.b32.f32 %r0, %r1, %r2, %r3", &[(&[1, 2, 0x8000_0001], 1)]);
    }
}
