//! The forms of `add`, `sub`, `mul` and `fma` that compute on two `f32` at once, which share a 64-bit register.

use crate::arith::float::Mode;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::{add, emit, fma, mul, sub};
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::machine::op::Handlers;

/// Lowers `add` and, if the second operand is to be taken away, `sub`.
pub(super) fn sum<const NEGATE: bool>(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    let sum = if NEGATE {
        shape::halves(function!(mode; |a: f32, b: f32| -> f32 { sub::single(Mode(mode), a, b) }))
    } else {
        shape::halves(function!(mode; |a: f32, b: f32| -> f32 { add::single(Mode(mode), a, b) }))
    };
    lower(l, mode, sum, 2)
}

/// Lowers `mul`.
pub(super) fn product(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    let product = shape::halves(function!(mode; |a: f32, b: f32| -> f32 { mul::product(Mode(mode), a, b) }));
    lower(l, mode, product, 2)
}

/// Lowers `fma`.
pub(super) fn fused(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    let sum = shape::halves(function!(mode; |a: f32, b: f32, c: f32| -> f32 { fma::of_singles(Mode(mode), a, b, c) }));
    lower(l, mode, sum, 3)
}

fn lower(l: &mut Lowering<'_>, mode: Mode, handlers: Handlers, sources: usize) -> Result<(), LowerError> {
    let ty = ScalarType::F32x2;
    emit::lanes(l, handlers, mode.0, ty, &[ty; 3][..sources])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    /// `high` and `low` in one register.
    fn two(high: u64, low: u64) -> u64 {
        high << 32 | low
    }

    #[test]
    fn sums() {
        let (one, tiny, huge) = (0x3f80_0000, 1, 0x7f7f_ffff);
        check(
            "add.f32x2 %rd0, %rd1, %rd2",
            &[
                (&[two(one, tiny), two(one, tiny)], two(0x4000_0000, 2)),
                (&[two(huge, 0x7fc0_0001), two(huge, one)], two(0x7f80_0000, 0x7fff_ffff)),
            ],
        );
        check("add.rz.f32x2 %rd0, %rd1, %rd2", &[(&[two(huge, 0), two(huge, 0)], two(huge, 0))]);
        check("sub.rm.ftz.f32x2 %rd0, %rd1, %rd2", &[(&[two(one, tiny), two(one, 0)], two(0x8000_0000, 0x8000_0000))]);
    }

    #[test]
    fn products() {
        check(
            "mul.rp.f32x2 %rd0, %rd1, %rd2",
            &[(&[two(0x0080_0000, 0x8080_0000), two(0x0080_0000, 0x0080_0000)], two(1, 0x8000_0000))],
        );
        check(
            "fma.rn.f32x2 %rd0, %rd1, %rd2, %rd3",
            &[(
                &[two(0x3f80_0001, 0), two(0x3f80_0001, 0x7f80_0000), two(0xbf80_0002, 0)],
                two(0x2880_0000, 0x7fff_ffff),
            )],
        );
    }
}
