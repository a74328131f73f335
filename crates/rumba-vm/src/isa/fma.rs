//! `fma`: product plus a third operand, rounded once.
//!
//! Without a fused instruction in the processor, the sum of the exact product in `f64` is rounded to odd first.

use crate::base::ir::{Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16};
use crate::exec::shape;
use crate::exec::shape::Scalar;
use crate::isa::float::{Mode, SCALE, by_mode, keep, propagate, sum_to_odd};
use crate::isa::half::Half;
use crate::isa::{emit, form, soft};
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
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
            lower: |l, m| single(l, Mode::of(m)),
        },
        Form {
            syntax: "
                fma.rnd.f64  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| double(l, Mode::of(m)),
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
            lower: |l, m| half(l, Mode::of(m), m.ty("type")?),
        },
        Form {
            syntax: "
                fma.rnd{.sat}.f32.atype  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
                .atype = { .f16, .bf16 };
            ",
            lower: |l, m| {
                let mode = Mode::of(m);
                mixed::widened_product(l, m.ty("atype")?, mode, fused(mode))
            },
        },
        Form {
            syntax: "
                fma.rnd{.ftz}.f32x2  d, a, b, c;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| f32x2::fused(l, Mode::of(m)),
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

/// `fma` of `f32`.
pub(super) fn single(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    emit::lanes(l, fused(mode), mode.0, ScalarType::F32, &[ScalarType::F32; 3])
}

fn fused(mode: Mode) -> Handlers {
    by_mode!(
        mode,
        M => Handlers {
            baseline: shape::ternary(|a: f32, b: f32, c: f32| exact(M, a, b, c)).baseline,
            ..shape::ternary(|a: f32, b: f32, c: f32| {
                let (a, b, c) = (M.input(a), M.input(b), M.input(c));
                M.flushed(a.mul_add(b, c), (a * SCALE).mul_add(b * SCALE, c * SCALE * SCALE))
            })
            .form(form_of_single)
        },
        D => shape::ternary_with(|mode: u16, a: f32, b: f32, c: f32| exact(D.unwrap_or(Mode(mode)), a, b, c))
            .form(|w, mode, x| {
                let [a, b, c] = [&x[0], &x[1], &x[2]].map(|x| form::input(w, mode, x));
                let [a, b, c] = [&a, &b, &c].map(|x| form::wide(w, x));
                let product = w.binary("fmul", &a, &b);
                form::sum(w, mode, &product, &c)
            })
    )
}

/// Writes the native code for `fma.rn.f32`.
fn form_of_single(w: &mut Writer, mode: u16, x: &[Value]) -> Value {
    let [a, b, c] = [&x[0], &x[1], &x[2]].map(|x| form::input(w, mode, x));
    let sum = w.intrinsic("fma", &[&a, &b, &c]);
    form::flushed(w, mode, &sum, |w| {
        let [a, b, c] = [(&a, 1), (&b, 1), (&c, 2)].map(|(x, times)| form::scaled(w, x, times));
        w.intrinsic("fma", &[&a, &b, &c])
    })
}

#[inline(always)]
fn exact(mode: Mode, a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(mode.input(a)) * f64::from(mode.input(b));
    mode.sum(product, mode.input(c).into())
}

/// `fma` of `f64`.
pub(super) fn double(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    let sum = if mode.is_nearest() {
        shape::ternary(|a: f64, b: f64, c: f64| keep(propagate(a.mul_add(b, c), a, c), b)).form(|w, _, x| {
            let sum = w.intrinsic("fma", &[&x[0], &x[1], &x[2]]);
            let sum = form::propagate(w, &sum, &x[0], &x[2]);
            form::keep(w, &sum, &x[1])
        })
    } else {
        shape::ternary_with(|mode: u16, a: f64, b: f64, c: f64| {
            let sum = soft::fma(a, b, c, Mode(mode).get_rounding(), soft::Format::F64);
            keep(propagate(sum, a, c), b)
        })
    };
    emit::lanes(l, sum, mode.0, ScalarType::F64, &[ScalarType::F64; 3])
}

fn half(l: &mut Lowering<'_>, mode: Mode, ty: ScalarType) -> Result<(), LowerError> {
    let sum = match ty {
        ScalarType::F16 => shape::lanes::<(F16, F16, F16), OfHalves>().form(form_of_halves::<false, false>),
        ScalarType::Bf16 => shape::lanes::<(Bf16, Bf16, Bf16), OfHalves>().form(form_of_halves::<true, false>),
        ScalarType::F16x2 => shape::halves::<(F16, F16, F16), OfHalves>().form(form_of_halves::<false, true>),
        _ => shape::halves::<(Bf16, Bf16, Bf16), OfHalves>().form(form_of_halves::<true, true>),
    };
    emit::lanes(l, sum, mode.0, ty, &[ty, ty, ty])
}

/// `fma` of halves: the sum of the exact product, rounded to odd before it is rounded.
/// Writes the native code.
fn form_of_halves<const BF16: bool, const PACKED: bool>(w: &mut Writer, mode: u16, x: &[Value]) -> Value {
    let half = form::Half::of(BF16);
    let one = |w: &mut Writer, x: &[Value]| {
        let [a, b, c] = [0, 1, 2].map(|operand| {
            let x = half.input(w, mode, &x[operand]);
            form::wide(w, &x)
        });
        let product = w.binary("fmul", &a, &b);
        let sum = form::sum_to_odd(w, &product, &c);
        half.output_wide(w, mode, &sum)
    };
    if PACKED { form::by_halves(w, x, one) } else { one(w, x) }
}

struct OfHalves;

impl<T: Half> Scalar<(T, T, T)> for OfHalves {
    type Output = T;

    #[inline(always)]
    fn call(mode: u16, (a, b, c): (T, T, T)) -> T {
        let mode = Mode(mode);
        let product = f64::from(a.input(mode)) * f64::from(b.input(mode));
        T::output_f64(mode, sum_to_odd(product, c.input(mode).into()))
    }
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
