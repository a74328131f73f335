//! `rcp`: reciprocal.
//!
//! The approximate forms are correctly rounded here; `rcp.approx.ftz.f64` to the 20 fraction bits that it has.

use crate::arith::float::{Mode, double_result, propagate_invalid};
use crate::arith::{Arith, F32, F64, select, soft};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
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
    let mode = emit::mode(m);
    let reciprocal = shape::by_mode(
        mode,
        function!(mode; |a: f32| -> f32 {
            let mode = Mode(mode);
            let a = mode.input(a);
            if mode.is_nearest() { mode.output(F32::from(1.0) / a) } else { mode.narrow(F64::from(1.0) / a.widen()) }
        }),
    );
    emit::lanes(l, reciprocal, mode.0, ScalarType::F32, &[ScalarType::F32])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let reciprocal = if mode.is_nearest() {
        shape::lanes(function!(|a: f64| -> f64 { propagate_invalid(F64::from(1.0) / a, a, a) }))
    } else {
        shape::called(|mode: u16, a: f64| {
            double_result(soft::div(1.0, a, Mode(mode).get_rounding(), soft::Format::F64), a, a)
        })
    };
    emit::lanes(l, reciprocal, mode.0, ScalarType::F64, &[ScalarType::F64])
}

fn approximate_double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let reciprocal = shape::lanes(function!(|a: f64| -> f64 { coarse(F64::from(1.0) / coarse(a)) }));
    emit::lanes(l, reciprocal, emit::mode(m).0, ScalarType::F64, &[ScalarType::F64])
}

/// Only the upper half of a number's bits, or a zero of its sign for a subnormal. A NaN with nothing there is an infinity.
#[inline(always)]
pub(super) fn coarse<A: Arith>(x: F64<A>) -> F64<A> {
    let upper = x.to_bits() & 0xffff_ffff_0000_0000;
    let (size, sign) = (upper & (u64::MAX >> 1), upper & (1 << 63));
    let number = select(size.lt(f64::MIN_POSITIVE.to_bits()), sign, upper);
    F64::from_bits(select(size.gt(f64::INFINITY.to_bits()), 0x7fff_ffff_0000_0000, number))
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
