//! `set`: a comparison, optionally combined with a predicate, as a number: all ones, or 1.0.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;

/// `set`
pub(super) static SET: Instruction = Instruction {
    name: "set",
    section: "9.7.6.1, 9.7.7.1",
    forms: &[Form {
        syntax: "
            set.CmpOp{.ftz}.dtype.stype         d, a, b;
            set.CmpOp.BoolOp{.ftz}.dtype.stype  d, a, b, {!}c;
            .CmpOp = { .eq, .ne, .lt, .le, .gt, .ge, .lo, .ls, .hi, .hs, .equ, .neu, .ltu, .leu, .gtu, .geu, .num, .nan };
            .BoolOp = { .and, .or, .xor };
            .dtype = { .u16, .s16, .u32, .s32, .f32, .f16, .bf16, .f16x2, .bf16x2 };
            .stype = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64, .f16, .f16x2, .bf16, .bf16x2 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

use crate::isa::comparison;
use crate::isa::comparison::Comparison;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let comparison = Comparison::of(m, "stype")?;
    let ty = m.ty("dtype")?;
    let first = comparison.to_scratch(l, 1)?;
    let p = l.scratch(ScalarType::Pred);
    let one = match ty {
        ScalarType::F32 => 0x3f80_0000,
        ScalarType::F16 | ScalarType::F16x2 => 0x3c00,
        ScalarType::Bf16 | ScalarType::Bf16x2 => 0x3f80,
        ScalarType::U16 | ScalarType::S16 => 0xffff,
        // A packed comparison gives all ones in each half of an integer.
        _ if comparison::halves(comparison.ty).is_some() => 0xffff,
        _ => 0xffff_ffff,
    };
    let choose = shape::select::<u32>();
    let zero = l.constant(ScalarType::B32, 0);
    let low = l.constant(ScalarType::B32, one);
    let dst = l.destination(0, ty)?;
    if comparison::halves(comparison.ty).is_none() {
        comparison::combine(l, m, (p, VReg::None), first, None)?;
        emit::emit(l, choose, 0, dst, [low, zero, p, VReg::None]);
        return Ok(());
    }
    let second = comparison.upper().to_scratch(l, 1)?;
    let q = l.scratch(ScalarType::Pred);
    comparison::combine(l, m, (p, q), first, Some(second))?;
    let high = l.constant(ScalarType::B32, one << 16);
    let (first, second) = (l.scratch(ScalarType::B32), l.scratch(ScalarType::B32));
    emit::emit(l, choose, 0, first, [low, zero, p, VReg::None]);
    emit::emit(l, choose, 0, second, [high, zero, q, VReg::None]);
    emit::emit(
        l,
        shape::lanes(function!(|a: u32, b: u32| -> u32 { a | b })),
        0,
        dst,
        [first, second, VReg::None, VReg::None],
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn numbers() {
        check("set.lt.u32.s32 %r0, %r1, %r2", &[(&[0, 1], 0xffff_ffff), (&[1, 0], 0)]);
        check(
            "set.gt.f32.f32 %r0, %r1, %r2",
            &[(&[0x4000_0000, 0x3f80_0000], 0x3f80_0000), (&[0x3f80_0000, 0x4000_0000], 0)],
        );
        check("set.eq.or.u32.f64 %r0, %rd1, %rd2, %p3", &[(&[0, 1, 1], 0xffff_ffff)]);
        check("set.lt.f16x2.f16x2 %r0, %r1, %r2", &[(&[0x3c00_0000, 0x4000_0000], 0x3c00_0000)]);
        check("set.lt.u16.f16 %h0, %h1, %h2", &[(&[0, 0x3c00], 0xffff)]);
    }
}
