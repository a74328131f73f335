//! `not`: bitwise complement, of a register or a predicate.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;

/// `not`
pub(super) static NOT: Instruction = Instruction {
    name: "not",
    section: "9.7.8.4",
    forms: &[Form {
        syntax: "
            not.type  d, a;
            .type = { .pred, .b16, .b32, .b64 };
        ",
        lower,
    }],
    carries: Carries::Value,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    if ty == ScalarType::Pred {
        // Both sources are the operand.
        let (dst, a) = (l.destination(0, ty)?, l.source(1, ty)?);
        let complement = shape::masks(function!(|a: u32, _b: u32| -> u32 { !a }));
        l.emit(VirtualOp::binary(complement, dst, a, a));
        return Ok(());
    }
    let complement = by_type!(ty, T: B16 B32 B64 => shape::lanes(function!(|a: T| -> T { !a })));
    emit::lanes(l, complement, 0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn registers_and_predicates() {
        check("not.b16 %h0, %h1", &[(&[0], 0xffff)]);
        check("not.b64 %rd0, %rd1", &[(&[0], 0xffff_ffff_ffff_ffff)]);
        check("not.pred %p0, %p1", &[(&[0], 1), (&[1], 0)]);
    }
}
