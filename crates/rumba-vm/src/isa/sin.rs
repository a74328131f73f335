//! `sin`: sine of an angle in radians, rounded from `f64` here.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::isa::float::{Mode, by_mode};
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `sin`
pub(super) static SIN: Instruction = Instruction {
    name: "sin",
    section: "9.7.3.18",
    forms: &[Form {
        syntax: "
            sin.approx{.ftz}.f32  d, a;
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
        M => shape::unary(|a: f32| M.output(math::sin(M.input(a)))).form(|w, mode, x| {
            let a = form::input(w, mode, &x[0]);
            let value = math::form_of_circular(w, &a, 0);
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
        check("sin.approx.f32 %r0, %r1", &[(&[0], 0), (&[0x7f80_0000], 0x7fff_ffff)]);
    }
}
