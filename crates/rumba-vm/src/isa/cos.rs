//! `cos`: cosine of an angle in radians, rounded from `f64` here.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::isa::float::{Mode, by_mode};
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `cos`
pub(super) static COS: Instruction = Instruction {
    name: "cos",
    section: "9.7.3.19",
    forms: &[Form {
        syntax: "
            cos.approx{.ftz}.f32  d, a;
        ",
        lower,
    }],
    ..Instruction::NEW
};

use crate::isa::{form, math};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let function = by_mode!(
        mode,
        M => shape::unary(|a: f32| M.output(math::cos(M.input(a)))).form(|w, mode, x| {
            let a = form::input(w, mode, &x[0]);
            let value = math::form_of_circular(w, &a, 1);
            form::output(w, mode, &value)
        })
    );
    emit::lanes(l, function, mode.0, ScalarType::F32, &[ScalarType::F32])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check("cos.approx.f32 %r0, %r1", &[(&[0], 0x3f80_0000), (&[0xff80_0000], 0x7fff_ffff)]);
    }
}
