//! `testp`: a property of a floating point number. Zeros count as normal.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `testp`
pub(super) static TESTP: Instruction = Instruction {
    name: "testp",
    section: "9.7.3.1",
    forms: &[Form {
        syntax: "
            testp.op.type  p, a;
            .op = { .finite, .infinite, .number, .notanumber, .normal, .subnormal };
            .type = { .f32, .f64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let test = by_type!(ty, T: F32 F64 => m.choose("op", &[
        (".finite", shape::test(function!(|a: T| -> bool { a.abs().lt(T::INFINITY) }))),
        (".infinite", shape::test(function!(|a: T| -> bool { a.abs().eq(T::INFINITY) }))),
        (".number", shape::test(function!(|a: T| -> bool { !a.is_nan() }))),
        (".notanumber", shape::test(function!(|a: T| -> bool { a.is_nan() }))),
        (".normal", shape::test(function!(|a: T| -> bool { a.abs().lt(T::INFINITY) & (a.abs().ge(T::MIN_POSITIVE) | a.eq(0.0)) }))),
        (".subnormal", shape::test(function!(|a: T| -> bool { a.abs().lt(T::MIN_POSITIVE) & a.abs().gt(0.0) }))),
    ])?);
    emit::lanes(l, test, 0, ScalarType::Pred, &[ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn classes() {
        check("testp.normal.f32 %p0, %r1", &[(&[0], 1), (&[1], 0), (&[0x3f80_0000], 1), (&[0x7f80_0000], 0)]);
        check("testp.subnormal.f32 %p0, %r1", &[(&[1], 1), (&[0], 0)]);
        check("testp.finite.f64 %p0, %rd1", &[(&[0x3ff0_0000_0000_0000], 1), (&[0x7ff0_0000_0000_0000], 0)]);
        check("testp.notanumber.f32 %p0, %r1", &[(&[0x7f80_0001], 1), (&[0x7f80_0000], 0)]);
        check("testp.infinite.f32 %p0, %r1", &[(&[0xff80_0000], 1)]);
        check("testp.number.f32 %p0, %r1", &[(&[0x7f80_0000], 1)]);
    }
}
