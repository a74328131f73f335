//! `slct`: one of two operands, by the sign of a third: the first if it is zero or more.

use std::hint::select_unpredictable as select;

use crate::base::ir::{Element, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::float::flush;
use crate::isa::{emit, form};
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

fn form_by_integer(w: &mut Writer, _: u16, x: &[Value]) -> Value {
    let positive = w.compare_with("icmp sge", &x[2], 0);
    w.select(&positive, &x[0], &x[1])
}

fn form_by_float(w: &mut Writer, _: u16, x: &[Value]) -> Value {
    let zero = w.number(Element::F32, 0);
    let positive = w.compare("fcmp oge", &x[2], &zero);
    w.select(&positive, &x[0], &x[1])
}

fn form_by_flushed(w: &mut Writer, mode: u16, x: &[Value]) -> Value {
    let c = form::flush(w, &x[2]);
    form_by_float(w, mode, &[x[0].clone(), x[1].clone(), c])
}

fn by_integer(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("dtype")?;
    let choose = if ty.bits() == 64 {
        shape::ternary(|a: u64, b: u64, c: i32| select(c >= 0, a, b)).form(form_by_integer)
    } else {
        shape::ternary(|a: u32, b: u32, c: i32| select(c >= 0, a, b)).form(form_by_integer)
    };
    emit::lanes(l, choose, 0, ty, &[ty, ty, ScalarType::S32])
}

fn by_float(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("dtype")?;
    let choose = match (m.has(".ftz"), ty.bits()) {
        (false, 64) => shape::ternary(|a: u64, b: u64, c: f32| select(c >= 0.0, a, b)).form(form_by_float),
        (false, _) => shape::ternary(|a: u32, b: u32, c: f32| select(c >= 0.0, a, b)).form(form_by_float),
        (true, 64) => shape::ternary(|a: u64, b: u64, c: f32| select(flush(c) >= 0.0, a, b)).form(form_by_flushed),
        (true, _) => shape::ternary(|a: u32, b: u32, c: f32| select(flush(c) >= 0.0, a, b)).form(form_by_flushed),
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
