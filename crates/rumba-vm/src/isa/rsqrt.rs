//! `rsqrt`: reciprocal of the square root.
//!
//! Rounded from `f64` here; `rsqrt.approx.ftz.f64` has 20 fraction bits.

use crate::arith::F64;
use crate::arith::float::Mode;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `rsqrt`
pub(super) static RSQRT: Instruction = Instruction {
    name: "rsqrt",
    section: "9.7.3.16, 9.7.3.17",
    forms: &[
        Form { syntax: "rsqrt.approx{.ftz}.f32  d, a;", lower: single },
        Form { syntax: "rsqrt.approx{.ftz}.f64  d, a;", lower: double },
    ],
    ..Instruction::NEW
};

use crate::isa::rcp::coarse;

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = emit::mode(m);
    let root = shape::by_mode(
        mode,
        function!(mode; |a: f32| -> f32 {
            let mode = Mode(mode);
            mode.output((F64::from(1.0) / mode.input(a).widen().sqrt()).narrow())
        }),
    );
    emit::lanes(l, root, mode.0, ScalarType::F32, &[ScalarType::F32])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let root = if m.has(".ftz") {
        shape::lanes(function!(|a: f64| -> f64 { coarse(F64::from(1.0) / coarse(a).sqrt()) }))
    } else {
        // The NaN of this form is that of the processor.
        shape::called(|_: u16, a: f64| 1.0 / a.sqrt())
    };
    emit::lanes(l, root, 0, ScalarType::F64, &[ScalarType::F64])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check(
            "rsqrt.approx.f32 %r0, %r1",
            &[(&[0x4080_0000], 0x3f00_0000), (&[0], 0x7f80_0000), (&[0xbf80_0000], 0x7fff_ffff), (&[0x7f80_0000], 0)],
        );
        check("rsqrt.approx.f64 %rd0, %rd1", &[(&[0x4010_0000_0000_0000], 0x3fe0_0000_0000_0000)]);
    }
}
