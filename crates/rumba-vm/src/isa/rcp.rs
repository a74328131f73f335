//! `rcp`: reciprocal.
//!
//! The approximate forms are correctly rounded here; `rcp.approx.ftz.f64` to the 20 fraction bits that it has.

use std::hint::select_unpredictable as select;

use crate::base::ir::Element;
use crate::base::ir::{Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::float::{Mode, by_mode, propagate};
use crate::isa::{emit, form, soft};
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `rcp`
pub(super) static RCP: Instruction = Instruction {
    name: "rcp",
    section: "9.7.3.13, 9.7.3.14",
    forms: &[
        Form {
            syntax: "
                rcp.approx{.ftz}.f32  d, a;
                rcp.rnd{.ftz}.f32     d, a;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: single,
        },
        Form {
            syntax: "
                rcp.rnd.f64  d, a;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: double,
        },
        Form { syntax: "rcp.approx.ftz.f64  d, a;", lower: approximate_double },
    ],
    ..Instruction::NEW
};

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let reciprocal = by_mode!(
        mode,
        M => shape::unary(|a: f32| M.output(1.0 / M.input(a))).form(|w, mode, x| {
            let a = form::input(w, mode, &x[0]);
            let one = w.number(Element::F32, 1_f32.to_bits().into());
            let quotient = w.binary("fdiv", &one, &a);
            form::output(w, mode, &quotient)
        }),
        D => shape::unary_with(|mode: u16, a: f32| {
            let mode = D.unwrap_or(Mode(mode));
            mode.narrow(1.0 / f64::from(mode.input(a)))
        })
        .form(|w, mode, x| {
            let a = form::input(w, mode, &x[0]);
            let a = form::wide(w, &a);
            let reciprocal = inverse(w, &a);
            form::narrow(w, mode, &reciprocal)
        })
    );
    emit::lanes(l, reciprocal, mode.0, ScalarType::F32, &[ScalarType::F32])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let reciprocal = if mode.is_nearest() {
        shape::unary(|a: f64| propagate(1.0 / a, a, a)).form(|w, _, x| {
            let reciprocal = inverse(w, &x[0]);
            form::processor_nan(w, &reciprocal, &[&x[0]])
        })
    } else {
        shape::unary_with(|mode: u16, a: f64| {
            propagate(soft::div(1.0, a, Mode(mode).get_rounding(), soft::Format::F64), a, a)
        })
    };
    emit::lanes(l, reciprocal, mode.0, ScalarType::F64, &[ScalarType::F64])
}

fn approximate_double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let reciprocal = shape::unary(|a: f64| coarse(1.0 / coarse(a))).form(|w, _, x| {
        let a = form_of_coarse(w, &x[0]);
        let reciprocal = inverse(w, &a);
        form_of_coarse(w, &reciprocal)
    });
    emit::lanes(l, reciprocal, Mode::of(m).0, ScalarType::F64, &[ScalarType::F64])
}

/// Writes the native code for a reciprocal.
fn inverse(w: &mut Writer, x: &Value) -> Value {
    let one = w.number(Element::F64, 1_f64.to_bits());
    w.binary("fdiv", &one, x)
}

/// As [`coarse`].
pub(super) fn form_of_coarse(w: &mut Writer, x: &Value) -> Value {
    let bits = w.bits_as(x, Element::I64);
    let upper = w.and_with(&bits, 0xffff_ffff << 32);
    let size = w.and_with(&upper, u64::MAX >> 1);
    let tiny = w.compare_with("icmp ult", &size, f64::MIN_POSITIVE.to_bits());
    let sign = w.and_with(&bits, 1 << 63);
    let number = w.select(&tiny, &sign, &upper);
    let nan = w.compare_with("icmp ugt", &size, f64::INFINITY.to_bits());
    let canonical = Value::integer(Element::I64, 0x7fff_ffff_0000_0000);
    let bits = w.select(&nan, &canonical, &number);
    w.bits_as(&bits, Element::F64)
}

/// Only the upper half of a number's bits, or a zero of its sign for a subnormal. A NaN with nothing there is an infinity.
#[inline(always)]
pub(super) fn coarse(x: f64) -> f64 {
    let upper = f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000);
    let zero = f64::from_bits(x.to_bits() & 1 << 63);
    let number = select(upper.abs() < f64::MIN_POSITIVE, zero, upper);
    select(upper.is_nan(), f64::from_bits(0x7fff_ffff_0000_0000), number)
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn roundings() {
        check("rcp.rn.f32 %r0, %r1", &[(&[0x4040_0000], 0x3eaa_aaab), (&[0x8000_0000], 0xff80_0000)]);
        check("rcp.rz.f32 %r0, %r1", &[(&[0x4040_0000], 0x3eaa_aaaa)]);
        check("rcp.rp.ftz.f32 %r0, %r1", &[(&[0x7e80_0001], 0)]);
        check("rcp.approx.f32 %r0, %r1", &[(&[0x4080_0000], 0x3e80_0000)]);
        check(
            "rcp.approx.ftz.f64 %rd0, %rd1",
            &[
                (&[0x4010_0000_0000_0000], 0x3fd0_0000_0000_0000),
                (&[1], 0x7ff0_0000_0000_0000),
                (&[0x7ff0_0000_0000_0001], 0),
            ],
        );
    }
}
