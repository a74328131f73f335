//! `popc`: the number of one bits.

use super::emit::{self, by_type};
use super::instruction::{Form, Instruction};
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `popc`
pub(super) static POPC: Instruction = Instruction {
    name: "popc",
    section: "9.7.1.14",
    forms: &[Form {
        syntax: "
            popc.type  d, a;
            .type = { .b32, .b64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let count = by_type!(ty, T: B32 B64 => shape::unary(|a: T| a.count_ones()));
    emit::lanes(l, count, 0, ScalarType::U32, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn counts() {
        check("popc.b32 %r0, %r1", &[(&[0], 0), (&[0xffff_ffff], 0x20)]);
        check("popc.b64 %r0, %rd1", &[(&[0xffff_ffff_ffff_ffff], 0x40)]);
    }
}
