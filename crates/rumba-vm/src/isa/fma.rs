//! `fma`: product plus a third operand, rounded once.
//!
//! Without a fused instruction in the processor, the sum of the exact product in `f64` is rounded to odd first.

use crate::arith::float::{Mode, SCALE, keep, propagate, sum_to_odd};
use crate::arith::half::Half;
use crate::arith::{Arith, F32, V, half, native, soft};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16};
use crate::exec::shape;
use crate::exec::shape::{by_extra, function};
use crate::isa::emit;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::machine::op::Handlers;

/// `fma`
pub(super) static FMA: Instruction = Instruction {
    name: "fma",
    section: "9.7.3.6, 9.7.4.4, 9.7.5.3",
    forms: &[
        Form {
            syntax: "
                fma.rnd{.ftz}{.sat}.f32  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| single(l, emit::mode(m)),
        },
        Form {
            syntax: "
                fma.rnd.f64  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| double(l, emit::mode(m)),
        },
        Form {
            syntax: "
                fma.rnd{.ftz}{.sat}.type   d, a, b, c;
                fma.rnd{.ftz}.relu.type    d, a, b, c;
                .rnd = { .rn };
                .type = { .f16, .f16x2 };

                fma.rnd{.relu}.type  d, a, b, c;
                .rnd = { .rn };
                .type = { .bf16, .bf16x2 };
            ",
            lower: |l, m| half(l, emit::mode(m), m.ty("type")?),
        },
        Form {
            syntax: "
                fma.rnd{.sat}.f32.atype  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
                .atype = { .f16, .bf16 };
            ",
            lower: |l, m| {
                let mode = emit::mode(m);
                mixed::widened_product(l, m.ty("atype")?, mode, fused(mode))
            },
        },
        Form {
            syntax: "
                fma.rnd{.ftz}.f32x2  d, a, b, c;
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
        Availability::since((7, 0), 80).with(&[".bf16"]).without(&[".f32"]),
        Availability::since((7, 0), 80).with(&[".bf16x2"]),
        Availability::since((8, 6), 100).with(&[".f32x2"]),
    ],
    ..Instruction::NEW
};

use crate::isa::{f32x2, mixed};

/// Of two numbers at once.
fn pairs(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let halves = shape::halves(function!(mode; |a: f32, b: f32, c: f32| -> f32 { of_singles(Mode(mode), a, b, c) }));
    f32x2::lower(l, mode, halves, 3)
}

/// `fma` of `f32`.
pub(super) fn single(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    emit::lanes(l, fused(mode), mode.0, ScalarType::F32, &[ScalarType::F32; 3])
}

fn fused(mode: Mode) -> Handlers {
    let function = function!(mode; |a: f32, b: f32, c: f32| -> f32 { of_singles(Mode(mode), a, b, c) });
    // libdevice's exponential functions also round down (2) and saturate (8).
    by_extra!(mode.0, function; 0 2 4 6 8 12)
}

/// `fma` of `f32`.
#[inline(always)]
fn of_singles<A: Arith>(mode: Mode, a: F32<A>, b: F32<A>, c: F32<A>) -> F32<A> {
    let (a, b, c) = (mode.input(a), mode.input(b), mode.input(c));
    if mode.is_nearest() {
        mode.flushed(a.mul_add(b, c), (a * SCALE).mul_add(b * SCALE, c * SCALE * SCALE))
    } else {
        mode.sum(a.widen() * b.widen(), c.widen())
    }
}

/// `fma` of `f64`.
pub(super) fn double(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    let sum = if mode.is_nearest() {
        shape::lanes(function!(|a: f64, b: f64, c: f64| -> f64 { keep(propagate(a.mul_add(b, c), a, c), b) }))
    } else {
        shape::called(|mode: u16, a: f64, b: f64, c: f64| {
            let sum = soft::fma(a, b, c, Mode(mode).get_rounding(), soft::Format::F64);
            keep(propagate(native(sum), native(a), native(c)), native(b)).0
        })
    };
    emit::lanes(l, sum, mode.0, ScalarType::F64, &[ScalarType::F64; 3])
}

fn half(l: &mut Lowering<'_>, mode: Mode, ty: ScalarType) -> Result<(), LowerError> {
    let f16 = function!(mode; |a: F16, b: F16, c: F16| -> F16 { of_halves(Mode(mode), a, b, c) });
    let bf16 = function!(mode; |a: Bf16, b: Bf16, c: Bf16| -> Bf16 { of_halves(Mode(mode), a, b, c) });
    let sum = match ty {
        ScalarType::F16 => shape::lanes(f16),
        ScalarType::Bf16 => shape::lanes(bf16),
        ScalarType::F16x2 => shape::halves(f16),
        _ => shape::halves(bf16),
    };
    emit::lanes(l, sum, mode.0, ty, &[ty, ty, ty])
}

/// `fma` of halves: the sum of the exact product, rounded to odd before it is rounded.
#[inline(always)]
fn of_halves<A: Arith, T: Half>(mode: Mode, a: V<A, T>, b: V<A, T>, c: V<A, T>) -> V<A, T> {
    let product = a.input(mode).widen() * b.input(mode).widen();
    half::output_f64(mode, sum_to_odd(product, c.input(mode).widen()))
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn rounds_once() {
        check(
            "fma.rn.f32 %r0, %r1, %r2, %r3",
            &[(&[0x3f80_0001, 0x3f80_0001, 0xbf80_0002], 0x2880_0000), (&[0, 0x7f80_0000, 0x3f80_0000], 0x7fff_ffff)],
        );
        check(
            "fma.rm.f32 %r0, %r1, %r2, %r3",
            &[
                (&[0x3f80_0000, 0x3f80_0000, 0xbf80_0000], 0x8000_0000),
                (&[0x3f80_0000, 0x3f80_0000, 0x8000_0001], 0x3f7f_ffff),
            ],
        );
        check("fma.rp.f32 %r0, %r1, %r2, %r3", &[(&[0x3f80_0000, 0x3f80_0000, 1], 0x3f80_0001)]);
        check("fma.rz.sat.f32 %r0, %r1, %r2, %r3", &[(&[0x4000_0000, 0x4000_0000, 0x3f80_0000], 0x3f80_0000)]);
        check(
            "fma.rn.f64 %rd0, %rd1, %rd2, %rd3",
            &[(&[0x3ff0_0000_0000_0001, 0x3ff0_0000_0000_0001, 0xbff0_0000_0000_0002], 0x3970_0000_0000_0000)],
        );
        check("fma.rn.f16 %h0, %h1, %h2, %h3", &[(&[0x3c01, 0x3c01, 0xbc02], 0x10)]);
        check("fma.rn.relu.bf16x2 %r0, %r1, %r2, %r3", &[(&[0x3f80_bf80, 0x3f80_3f80, 0], 0x3f80_0000)]);
        check("fma.rn.f32.f16 %r0, %h1, %h2, %r3", &[(&[0x3c00, 0x4000, 0x3f80_0000], 0x4040_0000)]);
    }
}
