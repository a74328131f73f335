//! `div`: quotient.
//!
//! The manual leaves integer division by zero open; the hardware gives all ones.
//! `div.full` and `div.approx` are correctly rounded here, except that `div.approx` gives 0 for divisors above 2^126.

use crate::arith::float::{Mode, SCALE, double_result, propagate_invalid};
use crate::arith::{Arith, F32, select, soft};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Hazard, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `div`
pub(super) static DIV: Instruction = Instruction {
    name: "div",
    section: "9.7.1.8, 9.7.3.8",
    forms: &[
        Form {
            syntax: "
                div.type  d, a, b;
                .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
            ",
            lower: |l, m| integer(l, m.ty("type")?),
        },
        Form { syntax: "div.approx{.ftz}.f32  d, a, b;", lower: approximate_single },
        Form {
            syntax: "
                div.full!{.ftz}.f32  d, a, b;
                div.rnd{.ftz}.f32    d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: single,
        },
        Form {
            syntax: "
                div.rnd.f64  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: double,
        },
    ],
    hazard: Some(Hazard::ZeroDivisor),
    ..Instruction::NEW
};

fn approximate_single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let quotient = shape::by_mode(
        mode,
        function!(mode; |a: f32, b: f32| -> f32 {
            let mode = Mode(mode);
            mode.output(approximate(mode.input(a), mode.input(b)))
        }),
    );
    emit::lanes(l, quotient, mode.0, ScalarType::F32, &[ScalarType::F32; 2])
}

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let quotient = shape::by_mode(
        mode,
        function!(mode; |a: f32, b: f32| -> f32 {
            let mode = Mode(mode);
            let (a, b) = (mode.input(a), mode.input(b));
            if mode.is_nearest() {
                mode.flushed(a / b, (a * SCALE) / (b / SCALE))
            } else {
                // A quotient of `f32` numbers in `f64` is exact or not close to any `f32`.
                mode.narrow(a.widen() / b.widen())
            }
        }),
    );
    emit::lanes(l, quotient, mode.0, ScalarType::F32, &[ScalarType::F32; 2])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let quotient = if mode.is_nearest() {
        shape::lanes(function!(|a: f64, b: f64| -> f64 { propagate_invalid(a / b, b, a) }))
    } else {
        shape::called(|mode: u16, a: f64, b: f64| {
            double_result(soft::div(a, b, Mode(mode).get_rounding(), soft::Format::F64), b, a)
        })
    };
    emit::lanes(l, quotient, mode.0, ScalarType::F64, &[ScalarType::F64; 2])
}

fn integer(l: &mut Lowering<'_>, ty: ScalarType) -> Result<(), LowerError> {
    let quotient = by_type!(ty, T: U16 S16 U32 S32 U64 S64 => {
        shape::lanes(function!(|a: T, b: T| -> T { a.quotient(b) }))
    });
    emit::lanes(l, quotient, 0, ty, &[ty, ty])
}

/// `a / b` by the rules of `div.approx`: zero for finite `a` if the magnitude of `b` is above 2^126.
#[inline(always)]
fn approximate<A: Arith>(a: F32<A>, b: F32<A>) -> F32<A> {
    let (a_size, b_size) = (a.abs(), b.abs());
    let large = b_size.gt(f32::from_bits(0x7e80_0000)) & b_size.lt(f32::INFINITY) & a_size.lt(f32::INFINITY);
    let sign = F32::from_bits((a.to_bits() ^ b.to_bits()) & 0x8000_0000);
    select(large, sign, a / b)
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn doubles_without_a_quotient() {
        let (infinity, invalid) = (0x7ff0_0000_0000_0000, 0xfff8_0000_0000_0000);
        let (first, second) = (0x7ff0_0000_0000_0007, 0xfff8_0000_0000_0009);
        for rounding in ["rn", "rz", "rm", "rp"] {
            check(
                &format!("div.{rounding}.f64 %rd0, %rd1, %rd2"),
                &[
                    (&[0, 0], invalid),
                    (&[infinity, infinity], invalid),
                    (&[first, second], first | 1 << 51),
                    (&[0, second], second),
                ],
            );
        }
    }

    #[test]
    fn by_zero_and_overflow() {
        check(
            "div.u32 %r0, %r1, %r2",
            &[(&[7, 2], 3), (&[7, 0], 0xffff_ffff), (&[0xffff_ffff, 1], 0xffff_ffff), (&[0xffff_fffe, 0xffff_ffff], 0)],
        );
        check(
            "div.s32 %r0, %r1, %r2",
            &[(&[0xffff_fff9, 2], 0xffff_fffd), (&[0x8000_0000, 0xffff_ffff], 0x8000_0000), (&[1, 0], 0xffff_ffff)],
        );
        check(
            "div.s64 %rd0, %rd1, %rd2",
            &[
                (&[0x8000_0000_0000_0000, 0xffff_ffff_ffff_ffff], 0x8000_0000_0000_0000),
                (&[5, 0], 0xffff_ffff_ffff_ffff),
            ],
        );
        check("div.u16 %h0, %h1, %h2", &[(&[9, 0], 0xffff), (&[9, 4], 2)]);
    }

    #[test]
    fn floats() {
        check(
            "div.rn.f32 %r0, %r1, %r2",
            &[(&[0x3f80_0000, 0x4040_0000], 0x3eaa_aaab), (&[0x3f80_0000, 0], 0x7f80_0000), (&[0, 0], 0x7fff_ffff)],
        );
        check("div.rz.f32 %r0, %r1, %r2", &[(&[0x3f80_0000, 0x4040_0000], 0x3eaa_aaaa)]);
        check("div.rm.f32 %r0, %r1, %r2", &[(&[0xbf80_0000, 0x4040_0000], 0xbeaa_aaab)]);
        check(
            "div.approx.f32 %r0, %r1, %r2",
            &[
                (&[0x40c0_0000, 0x4000_0000], 0x4040_0000),
                (&[0x3f80_0000, 0x7e80_0001], 0),
                (&[0x7f80_0000, 0x7e80_0001], 0x7f80_0000),
            ],
        );
        check(
            "div.rp.f64 %rd0, %rd1, %rd2",
            &[(&[0x3ff0_0000_0000_0000, 0x4008_0000_0000_0000], 0x3fd5_5555_5555_5556)],
        );
    }
}
