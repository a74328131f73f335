//! `add`: sum.

use crate::arith::float::{Mode, double_result, propagate};
use crate::arith::{Arith, F32, soft};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::machine::op::Handlers;

/// `add`
pub(super) static ADD: Instruction = Instruction {
    name: "add",
    section: "9.7.1.1, 9.7.2.1, 9.7.3.3, 9.7.4.1, 9.7.5.1",
    forms: &[
        Form {
            syntax: "
                add.type  d, a, b;
                .type = { .u16, .u32, .u64, .s16, .s64, .u16x2, .s16x2 };
            ",
            lower: |l, m| integers(l, m.ty("type")?),
        },
        Form { syntax: "add{.sat}.s32  d, a, b;", lower: signed },
        Form {
            syntax: "
                add.cc.type  d, a, b;
                .type = { .u32, .s32, .u64, .s64 };
            ",
            lower: |l, m| crate::isa::addc::with_carry(l, m.ty("type")?, WRITES_CARRY),
        },
        Form {
            syntax: "
                add{.rnd}{.ftz}{.sat}.f32  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| floats(l, m, ScalarType::F32),
        },
        Form {
            syntax: "
                add{.rnd}.f64  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| floats(l, m, ScalarType::F64),
        },
        Form {
            syntax: "
                add{.rnd}{.ftz}{.sat}.type  d, a, b;
                .rnd = { .rn };
                .type = { .f16, .f16x2 };

                add{.rnd}.type  d, a, b;
                .rnd = { .rn };
                .type = { .bf16, .bf16x2 };
            ",
            lower: |l, m| floats(l, m, m.ty("type")?),
        },
        Form {
            syntax: "
                add{.rnd}{.sat}.f32.atype  d, a, c;
                .rnd = { .rn, .rz, .rm, .rp };
                .atype = { .f16, .bf16 };
            ",
            lower: widened,
        },
        Form {
            syntax: "
                add{.rnd}{.ftz}.f32x2  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: pairs,
        },
    ],
    availability: &[
        Availability::since((8, 6), 100).with(&[".f32", ".f16"]),
        Availability::since((8, 6), 100).with(&[".f32", ".bf16"]),
        Availability::since((4, 2), 53).with(&[".f16"]).without(&[".f32"]),
        Availability::since((4, 2), 53).with(&[".f16x2"]),
        Availability::since((7, 8), 90).with(&[".bf16"]).without(&[".f32"]),
        Availability::since((7, 8), 90).with(&[".bf16x2"]),
        Availability::since((8, 6), 100).with(&[".f32x2"]),
        Availability::since((8, 0), 90).with(&[".u16x2"]),
        Availability::since((8, 0), 90).with(&[".s16x2"]),
    ],
    carries: Carries::ValueAndAddress,
    ..Instruction::NEW
};

use crate::isa::{f32x2, mixed};

const WRITES_CARRY: shape::CarryUse = shape::CarryUse { reads: false, writes: true };

fn integers(l: &mut Lowering<'_>, ty: ScalarType) -> Result<(), LowerError> {
    emit::lanes(l, integer(ty)?, 0, ty, &[ty, ty])
}

fn signed(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    if m.has(".sat") {
        let saturating = shape::lanes(function!(|a: i32, b: i32| -> i32 { a.saturating_add(b) }));
        return emit::lanes(l, saturating, emit::mode(m).0, ScalarType::S32, &[ScalarType::S32; 2]);
    }
    integers(l, ScalarType::S32)
}

fn floats(l: &mut Lowering<'_>, m: &Matched<'_>, ty: ScalarType) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    emit::lanes(l, sum(mode, ty)?, mode.0, ty, &[ty, ty])
}

fn widened(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    mixed::widened(l, m.ty("atype")?, mode, sum(mode, ScalarType::F32)?)
}

fn integer(ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(match ty {
        ScalarType::U16x2 | ScalarType::S16x2 => shape::halves(function!(|a: u16, b: u16| -> u16 { a + b })),
        _ => by_type!(ty, T: U16 S16 U32 S32 U64 S64 => {
            shape::lanes(function!(|a: T, b: T| -> T { a + b }))
        }),
    })
}

fn sum(mode: Mode, ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(match ty {
        ScalarType::F32 => shape::by_mode(mode, function!(mode; |a: f32, b: f32| -> f32 { single(Mode(mode), a, b) })),
        ScalarType::F64 if mode.is_nearest() => {
            shape::lanes(function!(|a: f64, b: f64| -> f64 { propagate(a + b, a, b) }))
        }
        ScalarType::F64 => shape::called(|mode: u16, a: f64, b: f64| {
            double_result(soft::add(a, b, Mode(mode).get_rounding(), soft::Format::F64), a, b)
        }),
        _ => mixed::halves(
            ty,
            mode,
            function!(|a: f32, b: f32| -> f32 { a + b }),
            function!(|a: f64, b: f64| -> f64 { a + b }),
        )?,
    })
}

/// Of two numbers at once.
fn pairs(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let halves = shape::halves(function!(mode; |a: f32, b: f32| -> f32 { single(Mode(mode), a, b) }));
    f32x2::lower(l, mode, halves, 2)
}

/// The sum of two `f32`.
#[inline(always)]
fn single<A: Arith>(mode: Mode, a: F32<A>, b: F32<A>) -> F32<A> {
    let (a, b) = (mode.input(a), mode.input(b));
    if mode.is_nearest() { mode.output(a + b) } else { mode.sum(a.widen(), b.widen()) }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("add.s32 %r0, %r1, %r2", &[(&[0xffff_ffff, 1], 0), (&[0x7fff_ffff, 1], 0x8000_0000)]);
        check(
            "add.sat.s32 %r0, %r1, %r2",
            &[(&[0x7fff_ffff, 1], 0x7fff_ffff), (&[0x8000_0000, 0xffff_ffff], 0x8000_0000), (&[3, 4], 7)],
        );
        check("add.u16 %h0, %h1, %h2", &[(&[0xffff, 2], 1)]);
        check("add.u64 %rd0, %rd1, %rd2", &[(&[0xffff_ffff_ffff_ffff, 2], 1)]);
        check("add.s16x2 %r0, %r1, %r2", &[(&[0x0001_ffff, 0x0001_0001], 0x0002_0000)]);
    }

    #[test]
    fn floats() {
        check(
            "add.f32 %r0, %r1, %r2",
            &[
                (&[0x3f80_0000, 0x4000_0000], 0x4040_0000),
                (&[0x7f80_0000, 0xff80_0000], 0x7fff_ffff),
                (&[0x8000_0000, 0], 0),
                (&[1, 1], 2),
            ],
        );
        check("add.ftz.f32 %r0, %r1, %r2", &[(&[1, 1], 0), (&[0x8000_0001, 0x8000_0001], 0x8000_0000)]);
        check(
            "add.sat.f32 %r0, %r1, %r2",
            &[(&[0x3f80_0000, 0x4000_0000], 0x3f80_0000), (&[0xbf80_0000, 0x3f00_0000], 0), (&[0x7fc0_0000, 0], 0)],
        );
        check(
            "add.f64 %rd0, %rd1, %rd2",
            &[
                (&[0x3fb9_9999_9999_999a, 0x3fc9_9999_9999_999a], 0x3fd3_3333_3333_3334),
                (&[0x7ff0_0000_0000_0001, 0xfff8_0000_0000_0007], 0xfff8_0000_0000_0007),
                (&[0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000], 0xfff8_0000_0000_0000),
            ],
        );
        check("add.f16 %h0, %h1, %h2", &[(&[0x3c00, 0x3c00], 0x4000), (&[0x7bff, 0x7bff], 0x7c00)]);
        check("add.rn.bf16x2 %r0, %r1, %r2", &[(&[0x3f80_3f80, 0x4000_3f80], 0x4040_4000)]);
    }

    #[test]
    fn directed() {
        check(
            "add.rz.f32 %r0, %r1, %r2",
            &[(&[0x3f80_0000, 0x3300_0000], 0x3f80_0000), (&[0x7f7f_ffff, 0x7f7f_ffff], 0x7f7f_ffff)],
        );
        check(
            "add.rp.f32 %r0, %r1, %r2",
            &[(&[0x3f80_0000, 1], 0x3f80_0001), (&[0xbf80_0000, 1], 0xbf7f_ffff), (&[0x3f80_0000, 0xbf80_0000], 0)],
        );
        check(
            "add.rm.f32 %r0, %r1, %r2",
            &[(&[0x3f80_0000, 0x8000_0001], 0x3f7f_ffff), (&[0x3f80_0000, 0xbf80_0000], 0x8000_0000), (&[0, 0], 0)],
        );
        check("add.rp.f64 %rd0, %rd1, %rd2", &[(&[0x3ff0_0000_0000_0000, 1], 0x3ff0_0000_0000_0001)]);
        check("add.rm.f32.f16 %r0, %h1, %r2", &[(&[0x3c00, 0x8000_0001], 0x3f7f_ffff)]);
    }
}
