//! `cnot`: logical complement: 1 for 0, and 0 for anything else.

use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `cnot`
pub(super) static CNOT: Instruction = Instruction {
    name: "cnot",
    section: "9.7.8.5",
    forms: &[Form {
        syntax: "
            cnot.type  d, a;
            .type = { .b16, .b32, .b64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let complement = by_type!(ty, T: B16 B32 B64 => shape::lanes(function!(|a: T| -> T { a.eq(0).to_integer() })));
    emit::lanes(l, complement, 0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn zero() {
        check("cnot.b32 %r0, %r1", &[(&[0], 1), (&[7], 0)]);
    }
}
