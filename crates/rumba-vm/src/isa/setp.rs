//! `setp`: a comparison, optionally combined with a predicate; the second destination gets the opposite comparison.

use crate::base::types::ScalarType;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;

/// `setp`
pub(super) static SETP: Instruction = Instruction {
    name: "setp",
    section: "9.7.6.2, 9.7.7.2",
    forms: &[
        Form {
            syntax: "
                setp.CmpOp{.ftz}.type  p[|q], a, b;
                .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
                .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64, .f16, .f16x2, .bf16, .bf16x2 };
            ",
            lower: |l, m| {
                let comparison = Comparison::of(m, "type")?;
                let (p, q) = l.destination_pair(0, ScalarType::Pred)?;
                if comparison::halves(comparison.ty).is_none() && q == VReg::None {
                    let (a, b) = (l.source(1, comparison.ty)?, l.source(2, comparison.ty)?);
                    comparison.emit(l, p, a, b);
                    return Ok(());
                }
                combine(l, m, comparison, (p, q))
            },
        },
        Form {
            syntax: "
                setp.CmpOp.BoolOp{.ftz}.type  p[|q], a, b, {!}c;
                .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
                .BoolOp = { .and, .or, .xor };
                .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64, .f16, .f16x2, .bf16, .bf16x2 };
            ",
            lower: |l, m| {
                let comparison = Comparison::of(m, "type")?;
                let places = l.destination_pair(0, ScalarType::Pred)?;
                combine(l, m, comparison, places)
            },
        },
    ],
    optional_result: true,
    carries: Carries::Value,
    compares: true,
    ..Instruction::NEW
};

use crate::isa::comparison;
use crate::isa::comparison::Comparison;

fn combine(
    l: &mut Lowering<'_>,
    m: &Matched<'_>,
    comparison: Comparison,
    places: (VReg, VReg),
) -> Result<(), LowerError> {
    let first = comparison.to_scratch(l, 1)?;
    let second =
        if comparison::halves(comparison.ty).is_some() { Some(comparison.upper().to_scratch(l, 1)?) } else { None };
    comparison::combine(l, m, places, first, second)
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("setp.lt.s32 %p0, %r1, %r2", &[(&[0xffff_ffff, 0], 1), (&[0, 0], 0)]);
        check("setp.lt.u32 %p0, %r1, %r2", &[(&[0xffff_ffff, 0], 0)]);
        check("setp.hs.u64 %p0, %rd1, %rd2", &[(&[5, 5], 1)]);
        check("setp.ne.b16 %p0, %h1, %h2", &[(&[1, 2], 1)]);
    }

    #[test]
    fn unordered() {
        check("setp.ne.f32 %p0, %r1, %r2", &[(&[0x7fc0_0000, 0], 0), (&[0, 0x3f80_0000], 1), (&[0, 0x8000_0000], 0)]);
        check("setp.neu.f32 %p0, %r1, %r2", &[(&[0x7fc0_0000, 0], 1)]);
        check(
            "setp.geu.f64 %p0, %rd1, %rd2",
            &[(&[0x7ff8_0000_0000_0000, 0], 1), (&[0x3ff0_0000_0000_0000, 0x4000_0000_0000_0000], 0)],
        );
        check("setp.num.f32 %p0, %r1, %r2", &[(&[0, 0x7fc0_0000], 0), (&[0, 0], 1)]);
        check("setp.eq.ftz.f32 %p0, %r1, %r2", &[(&[1, 0], 1)]);
    }

    #[test]
    fn combined() {
        check("setp.lt.and.s32 %p0, %r1, %r2, %p3", &[(&[0, 1, 1], 1), (&[0, 1, 0], 0)]);
        check("setp.lt.or.s32 %p0|%p9, %r1, %r2, !%p3", &[(&[0, 1, 1], 1), (&[1, 0, 0], 1), (&[1, 0, 1], 0)]);
        check("setp.lt.xor.s32 %p9|%p0, %r1, %r2, %p3", &[(&[0, 1, 1], 1), (&[0, 1, 0], 0)]);
        check("setp.eq.f16x2 %p9|%p0, %r1, %r2", &[(&[0x3c00_0000, 0x3c00_1111], 1)]);
    }
}
