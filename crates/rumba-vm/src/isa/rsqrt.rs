//! `rsqrt`: reciprocal of the square root.
//!
//! Rounded from `f64` here; `rsqrt.approx.ftz.f64` has 20 fraction bits.

use crate::base::ir::Element;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::float::{Mode, by_mode};
use crate::isa::{emit, form};
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
    let root = by_mode!(
        Mode::of(m),
        M => shape::unary(|a: f32| M.output((1.0 / f64::from(M.input(a)).sqrt()) as f32)).form(|w, mode, x| {
            let a = form::input(w, mode, &x[0]);
            let wide = w.convert("fpext", &a, Element::F64);
            let root = w.intrinsic("sqrt", &[&wide]);
            let one = w.number(Element::F64, 1_f64.to_bits());
            let quotient = w.binary("fdiv", &one, &root);
            let root = w.convert("fptrunc", &quotient, Element::F32);
            form::output(w, mode, &root)
        })
    );
    emit::lanes(l, root, Mode::of(m).0, ScalarType::F32, &[ScalarType::F32])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let root = if m.has(".ftz") {
        shape::unary(|a: f64| coarse(1.0 / coarse(a).sqrt()))
    } else {
        shape::unary(|a: f64| 1.0 / a.sqrt())
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
