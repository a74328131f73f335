//! `clz`: the number of leading zero bits.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `clz`
pub(super) static CLZ: Instruction = Instruction {
    name: "clz",
    section: "9.7.1.15",
    forms: &[Form {
        syntax: "
            clz.type  d, a;
            .type = { .b32, .b64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let count = by_type!(ty, T: B32 B64 => shape::lanes(function!(|a: T| -> u32 { a.leading_zeros().cast() })));
    emit::lanes(l, count, 0, ScalarType::U32, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn zero() {
        check("clz.b32 %r0, %r1", &[(&[0], 0x20), (&[1], 0x1f), (&[0x8000_0000], 0)]);
        check("clz.b64 %r0, %rd1", &[(&[0], 0x40), (&[1], 0x3f)]);
    }
}
