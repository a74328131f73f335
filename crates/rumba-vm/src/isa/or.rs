//! `or`: bitwise or, of registers or predicates.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Chooses, Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `or`
pub(super) static OR: Instruction = Instruction {
    name: "or",
    section: "9.7.8.2",
    forms: &[Form {
        syntax: "
            or.type  d, a, b;
            .type = { .pred, .b16, .b32, .b64 };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    carries: Carries::ValueAndAddress,
    chooses: Chooses::OfPredicates,
    is_idempotent: true,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let combine = match ty {
        ScalarType::Pred => shape::masks(function!(|a: u32, b: u32| -> u32 { a | b })),
        ScalarType::B64 => shape::lanes(function!(|a: u64, b: u64| -> u64 { a | b })),
        _ => shape::lanes(function!(|a: u32, b: u32| -> u32 { a | b })),
    };
    emit::lanes(l, combine, 0, ty, &[ty, ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn registers_and_predicates() {
        check("or.b32 %r0, %r1, %r2", &[(&[0xf0f0, 0xff00], 0xfff0)]);
        check("or.pred %p0, %p1, %p2", &[(&[0, 1], 1), (&[0, 0], 0)]);
    }
}
