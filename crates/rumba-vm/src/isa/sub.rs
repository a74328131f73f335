//! `sub`: difference.

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

/// `sub`
pub(super) static SUB: Instruction = Instruction {
    name: "sub",
    section: "9.7.1.2, 9.7.2.3, 9.7.3.4, 9.7.4.2, 9.7.5.2",
    forms: &[
        Form {
            syntax: "
                sub.type  d, a, b;
                .type = { .u16, .u32, .u64, .s16, .s64 };
            ",
            lower: |l, m| integers(l, m.ty("type")?),
        },
        Form { syntax: "sub{.sat}.s32  d, a, b;", lower: signed },
        Form {
            syntax: "
                sub.cc.type  d, a, b;
                .type = { .u32, .s32, .u64, .s64 };
            ",
            lower: |l, m| crate::isa::subc::with_borrow(l, m.ty("type")?, WRITES_CARRY),
        },
        Form {
            syntax: "
                sub{.rnd}{.ftz}{.sat}.f32  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| floats(l, m, ScalarType::F32),
        },
        Form {
            syntax: "
                sub{.rnd}.f64  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| floats(l, m, ScalarType::F64),
        },
        Form {
            syntax: "
                sub{.rnd}{.ftz}{.sat}.type  d, a, b;
                .rnd = { .rn };
                .type = { .f16, .f16x2 };

                sub{.rnd}.type  d, a, b;
                .rnd = { .rn };
                .type = { .bf16, .bf16x2 };
            ",
            lower: |l, m| floats(l, m, m.ty("type")?),
        },
        Form {
            syntax: "
                sub{.rnd}{.sat}.f32.atype  d, a, c;
                .rnd = { .rn, .rz, .rm, .rp };
                .atype = { .f16, .bf16 };
            ",
            lower: widened,
        },
        Form {
            syntax: "
                sub{.rnd}{.ftz}.f32x2  d, a, b;
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
    ],
    carries: Carries::Address,
    ..Instruction::NEW
};

use crate::isa::{f32x2, mixed};

const WRITES_CARRY: shape::CarryUse = shape::CarryUse { reads: false, writes: true };

fn integers(l: &mut Lowering<'_>, ty: ScalarType) -> Result<(), LowerError> {
    emit::lanes(l, integer(ty)?, 0, ty, &[ty, ty])
}

fn signed(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    if m.has(".sat") {
        let saturating = shape::lanes(function!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) }));
        return emit::lanes(l, saturating, emit::mode(m).0, ScalarType::S32, &[ScalarType::S32; 2]);
    }
    integers(l, ScalarType::S32)
}

fn floats(l: &mut Lowering<'_>, m: &Matched<'_>, ty: ScalarType) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    emit::lanes(l, difference(mode, ty)?, mode.0, ty, &[ty, ty])
}

fn widened(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    mixed::widened(l, m.ty("atype")?, mode, difference(mode, ScalarType::F32)?)
}

fn integer(ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(by_type!(ty, T: U16 S16 U32 S32 U64 S64 => {
        shape::lanes(function!(|a: T, b: T| -> T { a - b }))
    }))
}

fn difference(mode: Mode, ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(match ty {
        ScalarType::F32 => shape::by_mode(mode, function!(mode; |a: f32, b: f32| -> f32 { single(Mode(mode), a, b) })),
        ScalarType::F64 if mode.is_nearest() => {
            shape::lanes(function!(|a: f64, b: f64| -> f64 { propagate(a - b, a, b) }))
        }
        ScalarType::F64 => shape::called(|mode: u16, a: f64, b: f64| {
            double_result(soft::add(a, -b, Mode(mode).get_rounding(), soft::Format::F64), a, b)
        }),
        _ => mixed::halves(
            ty,
            mode,
            function!(|a: f32, b: f32| -> f32 { a - b }),
            function!(|a: f64, b: f64| -> f64 { a - b }),
        )?,
    })
}

/// Of two numbers at once.
fn pairs(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let halves = shape::halves(function!(mode; |a: f32, b: f32| -> f32 { single(Mode(mode), a, b) }));
    f32x2::lower(l, mode, halves, 2)
}

/// The difference of two `f32`.
#[inline(always)]
fn single<A: Arith>(mode: Mode, a: F32<A>, b: F32<A>) -> F32<A> {
    let (a, b) = (mode.input(a), mode.input(b));
    if mode.is_nearest() { mode.output(a - b) } else { mode.sum(a.widen(), (-b).widen()) }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("sub.s32 %r0, %r1, %r2", &[(&[0, 1], 0xffff_ffff)]);
        check("sub.sat.s32 %r0, %r1, %r2", &[(&[0x8000_0000, 1], 0x8000_0000)]);
    }

    #[test]
    fn floats() {
        check(
            "sub.f32 %r0, %r1, %r2",
            &[(&[0x4040_0000, 0x3f80_0000], 0x4000_0000), (&[0x7f80_0000, 0x7f80_0000], 0x7fff_ffff)],
        );
        check("sub.rm.f32 %r0, %r1, %r2", &[(&[0x3f80_0000, 0x3f80_0000], 0x8000_0000)]);
        check("sub.f64 %rd0, %rd1, %rd2", &[(&[0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0001], 0x7ff8_0000_0000_0001)]);
        check("sub.f16x2 %r0, %r1, %r2", &[(&[0x4000_3c00, 0x3c00_3c00], 0x3c00_0000)]);
        check("sub.rz.sat.f32.bf16 %r0, %h1, %r2", &[(&[0x4000, 0x3f00_0000], 0x3f80_0000)]);
    }
}
