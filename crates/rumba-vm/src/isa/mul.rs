//! `mul`: product: its low half, its high half, all of it, or rounded.

use crate::arith::float::{Mode, SCALE, double_result, propagate};
use crate::arith::{Arith, F32, soft};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::machine::op::Handlers;

/// `mul`
pub(super) static MUL: Instruction = Instruction {
    name: "mul",
    section: "9.7.1.3, 9.7.3.5, 9.7.4.3",
    forms: &[
        Form {
            syntax: "
                mul.half!.type  d, a, b;
                .half = { .hi, .lo };
                .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
            ",
            lower: one_half,
        },
        Form {
            syntax: "
                mul.wide!.type  d, a, b;
                .type = { .u16, .u32, .s16, .s32 };
            ",
            lower: whole,
        },
        Form {
            syntax: "
                mul{.rnd}{.ftz}{.sat}.f32  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: single,
        },
        Form {
            syntax: "
                mul{.rnd}.f64  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: double,
        },
        Form {
            syntax: "
                mul{.rnd}{.ftz}{.sat}.type  d, a, b;
                .rnd = { .rn };
                .type = { .f16, .f16x2 };

                mul{.rnd}.type  d, a, b;
                .rnd = { .rn };
                .type = { .bf16, .bf16x2 };
            ",
            lower: halves,
        },
        Form {
            syntax: "
                mul{.rnd}{.ftz}.f32x2  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: pairs,
        },
    ],
    availability: &[
        Availability::since((4, 2), 53).with(&[".f16"]),
        Availability::since((4, 2), 53).with(&[".f16x2"]),
        Availability::since((7, 8), 90).with(&[".bf16"]),
        Availability::since((7, 8), 90).with(&[".bf16x2"]),
        Availability::since((8, 6), 100).with(&[".f32x2"]),
    ],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

use crate::isa::{f32x2, mixed};

fn one_half(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let product = if m.get("half") == Some(".hi") { high(ty)? } else { low(ty)? };
    emit::lanes(l, product, 0, ty, &[ty, ty])
}

fn whole(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let product = match ty {
        ScalarType::U16 => shape::lanes(function!(|a: u16, b: u16| -> u32 { a.cast::<u32>() * b.cast() })),
        ScalarType::S16 => shape::lanes(function!(|a: i16, b: i16| -> i32 { a.cast::<i32>() * b.cast() })),
        ScalarType::U32 => shape::lanes(function!(|a: u32, b: u32| -> u64 { a.cast::<u64>() * b.cast() })),
        _ => shape::lanes(function!(|a: i32, b: i32| -> i64 { a.cast::<i64>() * b.cast() })),
    };
    emit::lanes(l, product, 0, wide(ty), &[ty, ty])
}

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let product = shape::by_mode(mode, function!(mode; |a: f32, b: f32| -> f32 { product(Mode(mode), a, b) }));
    emit::lanes(l, product, mode.0, ScalarType::F32, &[ScalarType::F32; 2])
}

/// Of two numbers at once.
fn pairs(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let halves = shape::halves(function!(mode; |a: f32, b: f32| -> f32 { product(Mode(mode), a, b) }));
    f32x2::lower(l, mode, halves, 2)
}

/// The product of two `f32`.
#[inline(always)]
fn product<A: Arith>(mode: Mode, a: F32<A>, b: F32<A>) -> F32<A> {
    let (a, b) = (mode.input(a), mode.input(b));
    if mode.is_nearest() { mode.flushed(a * b, (a * SCALE) * (b * SCALE)) } else { mode.narrow(a.widen() * b.widen()) }
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let product = if mode.is_nearest() {
        shape::lanes(function!(|a: f64, b: f64| -> f64 { propagate(a * b, a, b) }))
    } else {
        shape::called(|mode: u16, a: f64, b: f64| {
            double_result(soft::mul(a, b, Mode(mode).get_rounding(), soft::Format::F64), a, b)
        })
    };
    emit::lanes(l, product, mode.0, ScalarType::F64, &[ScalarType::F64; 2])
}

fn halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let (mode, ty) = (emit::mode(m), m.ty("type")?);
    let product = mixed::halves(
        ty,
        mode,
        function!(|a: f32, b: f32| -> f32 { a * b }),
        function!(|a: f64, b: f64| -> f64 { a * b }),
    )?;
    emit::lanes(l, product, mode.0, ty, &[ty, ty])
}

/// The type of twice the width.
pub(super) fn wide(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}

fn low(ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(by_type!(ty, T: U16 S16 U32 S32 U64 S64 => {
        shape::lanes(function!(|a: T, b: T| -> T { a * b }))
    }))
}

fn high(ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::lanes(function!(|a: T, b: T| -> T { a.high(b) }))))
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn halves() {
        check("mul.lo.s32 %r0, %r1, %r2", &[(&[0x0001_0000, 0x0001_0000], 0), (&[0xffff_ffff, 5], 0xffff_fffb)]);
        check("mul.hi.s32 %r0, %r1, %r2", &[(&[0xffff_ffff, 5], 0xffff_ffff)]);
        check("mul.hi.u32 %r0, %r1, %r2", &[(&[0xffff_ffff, 0xffff_ffff], 0xffff_fffe)]);
        check(
            "mul.hi.u64 %rd0, %rd1, %rd2",
            &[(&[0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff], 0xffff_ffff_ffff_fffe)],
        );
        check("mul.hi.s64 %rd0, %rd1, %rd2", &[(&[0xffff_ffff_ffff_ffff, 2], 0xffff_ffff_ffff_ffff)]);
        check("mul.wide.s32 %rd0, %r1, %r2", &[(&[0xffff_ffff, 2], 0xffff_ffff_ffff_fffe)]);
        check("mul.wide.u16 %r0, %h1, %h2", &[(&[0xffff, 0xffff], 0xfffe_0001)]);
    }

    #[test]
    fn floats() {
        check("mul.f32 %r0, %r1, %r2", &[(&[0x4040_0000, 0xc000_0000], 0xc0c0_0000), (&[0, 0x7f80_0000], 0x7fff_ffff)]);
        check(
            "mul.rn.ftz.f32 %r0, %r1, %r2",
            &[(&[0x8080_0000, 0x3f7f_ffff], 0x8000_0000), (&[0x0080_0000, 0x3f80_0000], 0x0080_0000)],
        );
        check(
            "mul.rz.f32 %r0, %r1, %r2",
            &[(&[0x7f7f_ffff, 0x4000_0000], 0x7f7f_ffff), (&[0x3f80_0001, 0x3f80_0001], 0x3f80_0002)],
        );
        check("mul.rp.f32 %r0, %r1, %r2", &[(&[0x3f80_0001, 0x3f80_0001], 0x3f80_0003), (&[1, 0x3e80_0000], 1)]);
        check("mul.f16 %h0, %h1, %h2", &[(&[0x4200, 0xc000], 0xc600)]);
        check(
            "mul.rz.f64 %rd0, %rd1, %rd2",
            &[(&[0x3ff0_0000_0000_0001, 0x3ff0_0000_0000_0001], 0x3ff0_0000_0000_0002)],
        );
    }
}
