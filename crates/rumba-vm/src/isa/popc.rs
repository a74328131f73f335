//! `popc`: the number of one bits.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

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
    let count = by_type!(ty, T: B32 B64 => shape::lanes(function!(|a: T| -> u32 { a.count_ones().cast() })));
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
