//! `div`: quotient.
//!
//! The manual leaves integer division by zero open; the hardware gives all ones.
//! `div.full` and `div.approx` are correctly rounded here, except that `div.approx` gives 0 for divisors above 2^126.

use std::hint::select_unpredictable as select;

use crate::base::ir::Element;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::float::{Mode, Rounding, SCALE, by_mode, propagate};
use crate::isa::{emit, form, soft};
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
    let mode = Mode::of(m);
    let quotient = by_mode!(mode, M => shape::binary(|a: f32, b: f32| M.output(approximate(M.input(a), M.input(b)))))
        .form(|w, mode, x| {
            let [a, b] = [&x[0], &x[1]].map(|x| form::input(w, mode, x));
            let [a_bits, b_bits] = [&a, &b].map(|x| w.bits_as(x, Element::I32));
            let [a_size, b_size] = [&a_bits, &b_bits].map(|bits| w.and_with(bits, 0x7fff_ffff));
            let above = w.compare_with("icmp ugt", &b_size, 0x7e80_0000);
            let [a_finite, b_finite] = [&a_size, &b_size].map(|size| w.compare_with("icmp ult", size, 0x7f80_0000));
            let large = w.and(&above, &a_finite);
            let large = w.and(&large, &b_finite);
            let sign = w.xor(&a_bits, &b_bits);
            let sign = w.and_with(&sign, 0x8000_0000);
            let sign = w.bits_as(&sign, Element::F32);
            let quotient = w.binary("fdiv", &a, &b);
            let quotient = w.select(&large, &sign, &quotient);
            form::output(w, mode, &quotient)
        });
    emit::lanes(l, quotient, mode.0, ScalarType::F32, &[ScalarType::F32; 2])
}

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let quotient = by_mode!(mode, M => shape::binary(|a: f32, b: f32| {
        let (a, b) = (M.input(a), M.input(b));
        M.flushed(a / b, (a * SCALE) / (b / SCALE))
    })
    .form(|w, mode, x| {
        let [a, b] = [&x[0], &x[1]].map(|x| form::input(w, mode, x));
        let quotient = w.binary("fdiv", &a, &b);
        form::flushed(w, mode, &quotient, |w| {
            let a = form::scaled(w, &a, 1);
            let scale = w.number(Element::F32, SCALE.to_bits().into());
            let b = w.binary("fdiv", &b, &scale);
            w.binary("fdiv", &a, &b)
        })
    }), D => shape::binary_with(|mode: u16, a: f32, b: f32| directed(D.unwrap_or(Mode(mode)), a, b)).form(|w, mode, x| {
        let [a, b] = [&x[0], &x[1]].map(|x| form::input(w, mode, x));
        let [a, b] = [&a, &b].map(|x| form::wide(w, x));
        let quotient = w.binary("fdiv", &a, &b);
        form::narrow(w, mode, &quotient)
    }));
    emit::lanes(l, quotient, mode.0, ScalarType::F32, &[ScalarType::F32; 2])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let quotient = match Rounding::from_modifier(m.get("rnd")) {
        Rounding::Nearest => shape::binary(|a: f64, b: f64| propagate(a / b, b, a)).form(|w, _, x| {
            let quotient = w.binary("fdiv", &x[0], &x[1]);
            form::processor_nan(w, &quotient, &[&x[0], &x[1]])
        }),
        Rounding::Zero => shape::binary(|a, b| directed_double(a, b, Rounding::Zero)),
        Rounding::Down => shape::binary(|a, b| directed_double(a, b, Rounding::Down)),
        Rounding::Up => shape::binary(|a, b| directed_double(a, b, Rounding::Up)),
    };
    emit::lanes(l, quotient, 0, ScalarType::F64, &[ScalarType::F64; 2])
}

fn directed_double(a: f64, b: f64, rounding: Rounding) -> f64 {
    propagate(soft::div(a, b, rounding, soft::Format::F64), b, a)
}

fn integer(l: &mut Lowering<'_>, ty: ScalarType) -> Result<(), LowerError> {
    let quotient = match ty {
        ScalarType::U16 => shape::binary(|a: u16, b: u16| divide_u32(a.into(), b.into()) as u16),
        ScalarType::S16 => shape::binary(|a: i16, b: i16| divide_s32(a.into(), b.into()) as i16),
        ScalarType::U32 => shape::binary(divide_u32),
        ScalarType::S32 => shape::binary(divide_s32),
        ScalarType::U64 => shape::binary(|a: u64, b: u64| a.checked_div(b).unwrap_or(u64::MAX)),
        ScalarType::S64 => shape::binary(|a: i64, b: i64| if b == 0 { -1 } else { a.wrapping_div(b) }),
        other => return Err(emit::no_such(other)),
    };
    let quotient = if ty.is_signed() {
        quotient.form(|w, _, x| form::quotient(w, true, x))
    } else {
        quotient.form(|w, _, x| form::quotient(w, false, x))
    };
    emit::lanes(l, quotient, 0, ty, &[ty, ty])
}

/// The quotient; all ones for a divisor of zero.
///
/// A quotient of 32-bit numbers that is no integer is further from the next integer than `f64` rounds.
#[inline(always)]
pub(super) fn divide_u32(a: u32, b: u32) -> u32 {
    let quotient = f64::from(a) / f64::from(select(b == 0, 1, b));
    // SAFETY: the quotient of two `u32` with a divisor of at least one is within 0..2^32.
    let quotient = unsafe { quotient.to_int_unchecked::<i64>() } as u32;
    select(b == 0, u32::MAX, quotient)
}

/// The quotient towards zero; -1 for a divisor of zero, wrapping for `MIN / -1`.
#[inline(always)]
pub(super) fn divide_s32(a: i32, b: i32) -> i32 {
    let quotient = f64::from(a) / f64::from(select(b == 0, 1, b));
    // SAFETY: the quotient is within ±2^31.
    let quotient = unsafe { quotient.to_int_unchecked::<i64>() } as i32;
    select(b == 0, -1, quotient)
}

/// `a / b` by the rules of `div.approx`: zero for finite `a` if the magnitude of `b` is above 2^126.
#[inline(always)]
fn approximate(a: f32, b: f32) -> f32 {
    let large = (b.abs() > f32::from_bits(0x7e80_0000)) & b.is_finite() & a.is_finite();
    let sign = f32::from_bits((a.to_bits() ^ b.to_bits()) & 0x8000_0000);
    select(large, sign, a / b)
}

/// A quotient in a directed rounding: an `f64` quotient of `f32` numbers is exact or not close to any `f32`.
#[inline(always)]
fn directed(mode: Mode, a: f32, b: f32) -> f32 {
    mode.narrow(f64::from(mode.input(a)) / f64::from(mode.input(b)))
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
