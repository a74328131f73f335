//! `sqrt`: square root. The approximate form is correctly rounded here.

use crate::arith::float::{Mode, double_result, propagate_invalid};
use crate::arith::soft;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `sqrt`
pub(super) static SQRT: Instruction = Instruction {
    name: "sqrt",
    section: "9.7.3.15",
    forms: &[
        Form {
            syntax: "
                sqrt.approx{.ftz}.f32  d, a;
                sqrt.rnd{.ftz}.f32     d, a;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: single,
        },
        Form {
            syntax: "
                sqrt.rnd.f64  d, a;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: double,
        },
    ],
    ..Instruction::NEW
};

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let root = shape::by_mode(
        mode,
        function!(mode; |a: f32| -> f32 {
            let mode = Mode(mode);
            let a = mode.input(a);
            if mode.is_nearest() { mode.output(a.sqrt()) } else { mode.narrow(a.widen().sqrt()) }
        }),
    );
    emit::lanes(l, root, mode.0, ScalarType::F32, &[ScalarType::F32])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let root = if mode.is_nearest() {
        shape::lanes(function!(|a: f64| -> f64 { propagate_invalid(a.sqrt(), a, a) }))
    } else {
        shape::called(|mode: u16, a: f64| {
            double_result(soft::sqrt(a, Mode(mode).get_rounding(), soft::Format::F64), a, a)
        })
    };
    emit::lanes(l, root, mode.0, ScalarType::F64, &[ScalarType::F64])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn doubles_without_a_root() {
        let (minus_one, invalid) = (0xbff0_0000_0000_0000, 0xfff8_0000_0000_0000);
        for rounding in ["rn", "rz"] {
            check(
                &format!("sqrt.{rounding}.f64 %rd0, %rd1"),
                &[(&[minus_one], invalid), (&[1 << 63], 1 << 63), (&[0x7ff0_0000_0000_0007], 0x7ff8_0000_0000_0007)],
            );
        }
    }

    #[test]
    fn negative() {
        check(
            "sqrt.rn.f32 %r0, %r1",
            &[(&[0x4080_0000], 0x4000_0000), (&[0xbf80_0000], 0x7fff_ffff), (&[0x8000_0000], 0x8000_0000)],
        );
        check("sqrt.rz.f32 %r0, %r1", &[(&[0x4000_0000], 0x3fb5_04f3)]);
        check("sqrt.rp.f32 %r0, %r1", &[(&[0x4000_0000], 0x3fb5_04f4)]);
        check("sqrt.rp.f64 %rd0, %rd1", &[(&[0x4000_0000_0000_0000], 0x3ff6_a09e_667f_3bcd)]);
        check("sqrt.rz.f64 %rd0, %rd1", &[(&[0x4000_0000_0000_0000], 0x3ff6_a09e_667f_3bcc)]);
    }
}
