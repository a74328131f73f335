//! `sad`: `|a - b| + c`.

use crate::arith::select;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `sad`
pub(super) static SAD: Instruction = Instruction {
    name: "sad",
    section: "9.7.1.7",
    forms: &[Form {
        syntax: "
            sad.type  d, a, b, c;
            .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let sum = by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::lanes(function!(|a: T, b: T, c: T| -> T {
        select(a.lt(b), b - a, a - b) + c
    })));
    emit::lanes(l, sum, 0, ty, &[ty, ty, ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn differences() {
        check("sad.u32 %r0, %r1, %r2, %r3", &[(&[1, 0xffff_ffff, 1], 0xffff_ffff)]);
        check("sad.s32 %r0, %r1, %r2, %r3", &[(&[1, 0xffff_ffff, 1], 3)]);
    }
}
