//! `xor`: bitwise exclusive or, of registers or predicates.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `xor`
pub(super) static XOR: Instruction = Instruction {
    name: "xor",
    section: "9.7.8.3",
    forms: &[Form {
        syntax: "
            xor.type  d, a, b;
            .type = { .pred, .b16, .b32, .b64 };
        ",
        lower,
    }],
    carries: Carries::Value,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let combine = match ty {
        ScalarType::Pred => shape::masks(function!(|a: u32, b: u32| -> u32 { a ^ b })),
        ScalarType::B64 => shape::lanes(function!(|a: u64, b: u64| -> u64 { a ^ b })),
        _ => shape::lanes(function!(|a: u32, b: u32| -> u32 { a ^ b })),
    };
    emit::lanes(l, combine, 0, ty, &[ty, ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn registers_and_predicates() {
        check("xor.b32 %r0, %r1, %r2", &[(&[0xf0f0, 0xff00], 0xff0)]);
        check("xor.pred %p0, %p1, %p2", &[(&[1, 1], 0), (&[1, 0], 1)]);
    }
}
