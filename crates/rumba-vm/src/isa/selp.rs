//! `selp`: one of two operands, by a predicate.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Chooses, Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `selp`
pub(super) static SELP: Instruction = Instruction {
    name: "selp",
    section: "9.7.6.3",
    forms: &[Form {
        syntax: "
            selp.type  d, a, b, c;
            .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    carries: Carries::Address,
    chooses: Chooses::ByPredicate,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let choose = if ty.bits() == 64 { shape::select::<u64>() } else { shape::select::<u32>() };
    emit::lanes(l, choose, 0, ty, &[ty, ty, ScalarType::Pred])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn chooses() {
        check("selp.b32 %r0, %r1, %r2, %p3", &[(&[1, 2, 1], 1), (&[1, 2, 0], 2)]);
        check("selp.f64 %rd0, %rd1, %rd2, %p3", &[(&[1, 2, 0], 2)]);
    }
}
