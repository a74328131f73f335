//! `brev`: the bits in reverse order.

use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `brev`
pub(super) static BREV: Instruction = Instruction {
    name: "brev",
    section: "9.7.1.18",
    forms: &[Form {
        syntax: "
            brev.type  d, a;
            .type = { .b32, .b64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let reverse = by_type!(ty, T: B32 B64 => shape::lanes(function!(|a: T| -> T { a.reverse_bits() })));
    emit::lanes(l, reverse, 0, ty, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn ends() {
        check("brev.b32 %r0, %r1", &[(&[1], 0x8000_0000), (&[0xf0], 0x0f00_0000)]);
        check("brev.b64 %rd0, %rd1", &[(&[1], 0x8000_0000_0000_0000)]);
    }
}
