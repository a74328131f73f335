//! `mad`: product plus a third operand: of integers, or of floating point numbers with one rounding (as `fma`).

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `mad`
pub(super) static MAD: Instruction = Instruction {
    name: "mad",
    section: "9.7.1.4, 9.7.2.5, 9.7.3.7",
    forms: &[
        Form {
            syntax: "
                mad.half!.type  d, a, b, c;
                .half = { .hi, .lo };
                .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
            ",
            lower: one_half,
        },
        Form { syntax: "mad.hi!.sat.s32  d, a, b, c;", lower: saturating },
        Form {
            syntax: "
                mad.wide!.type  d, a, b, c;
                .type = { .u16, .u32, .s16, .s32 };
            ",
            lower: whole,
        },
        Form {
            syntax: "
                mad.half!.cc.type  d, a, b, c;
                .half = { .hi, .lo };
                .type = { .u32, .s32, .u64, .s64 };
            ",
            lower: with_carry,
        },
        Form {
            syntax: "
                mad.rnd{.ftz}{.sat}.f32  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| fma::single(l, emit::mode(m)),
        },
        Form {
            syntax: "
                mad.rnd.f64  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| fma::double(l, emit::mode(m)),
        },
    ],
    undefined: Undefined::Absorbs(Extremes::Bits),
    carries: Carries::Address,
    ..Instruction::NEW
};

use crate::isa::mul::wide;
use crate::isa::{fma, madc};
use shape::CarryUse;

fn is_high(m: &Matched<'_>) -> bool {
    m.get("half") == Some(".hi")
}

fn one_half(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let sum = if is_high(m) {
        by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::lanes(function!(|a: T, b: T, c: T| -> T { a.high(b) + c })))
    } else {
        by_type!(ty, T: U16 S16 U32 S32 U64 S64 => {
            shape::lanes(function!(|a: T, b: T, c: T| -> T { a * b + c }))
        })
    };
    emit::lanes(l, sum, 0, ty, &[ty, ty, ty])
}

fn saturating(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let sum = shape::lanes(function!(|a: i32, b: i32, c: i32| -> i32 { a.high(b).saturating_add(c) }));
    emit::lanes(l, sum, 0, ScalarType::S32, &[ScalarType::S32; 3])
}

fn whole(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let sum = match ty {
        ScalarType::U16 => shape::lanes(function!(|a: u16, b: u16, c: u32| -> u32 { a.cast::<u32>() * b.cast() + c })),
        ScalarType::S16 => shape::lanes(function!(|a: i16, b: i16, c: i32| -> i32 { a.cast::<i32>() * b.cast() + c })),
        ScalarType::U32 => shape::lanes(function!(|a: u32, b: u32, c: u64| -> u64 { a.cast::<u64>() * b.cast() + c })),
        _ => shape::lanes(function!(|a: i32, b: i32, c: i64| -> i64 { a.cast::<i64>() * b.cast() + c })),
    };
    emit::lanes(l, sum, 0, wide(ty), &[ty, ty, wide(ty)])
}

fn with_carry(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let flag = CarryUse { reads: false, writes: true };
    madc::with_carry(l, m.ty("type")?, is_high(m), flag)
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("mad.lo.s32 %r0, %r1, %r2, %r3", &[(&[3, 4, 5], 0x11)]);
        check("mad.hi.u32 %r0, %r1, %r2, %r3", &[(&[0xffff_ffff, 0xffff_ffff, 2], 0)]);
        check("mad.hi.sat.s32 %r0, %r1, %r2, %r3", &[(&[0x4000_0000, 0x4000_0000, 0x7fff_ffff], 0x7fff_ffff)]);
        check("mad.wide.s32 %rd0, %r1, %r2, %rd3", &[(&[0xffff_ffff, 2, 1], 0xffff_ffff_ffff_ffff)]);
        check("mad.wide.u16 %r0, %h1, %h2, %r3", &[(&[0xffff, 0xffff, 0xffff_ffff], 0xfffe_0000)]);
    }

    #[test]
    fn rounds_once() {
        check("mad.rn.f32 %r0, %r1, %r2, %r3", &[(&[0x3f80_0001, 0x3f80_0001, 0xbf80_0002], 0x2880_0000)]);
    }
}
