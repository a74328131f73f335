//! The forms of `add`, `sub`, `mul` and `fma` that compute on two `f32` at once, which share a 64-bit register.

use crate::base::ir::Element;
use crate::base::types::ScalarType;
use crate::exec::lane::Lane;
use crate::exec::shape;
use crate::isa::emit;
use crate::isa::float::{Mode, SCALE};
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::machine::op::Handlers;

/// Two `f32`, the first in the low half of the register.
#[derive(Clone, Copy)]
struct Two(f32, f32);

impl Lane for Two {
    type Raw = u64;
    const ELEMENT: Element = Element::I64;

    #[inline(always)]
    fn from_raw(raw: u64) -> Self {
        Self(f32::from_bits(raw as u32), f32::from_bits((raw >> 32) as u32))
    }

    #[inline(always)]
    fn into_raw(self) -> u64 {
        u64::from(self.0.to_bits()) | u64::from(self.1.to_bits()) << 32
    }
}

/// Lowers `add` and, if the second operand is to be taken away, `sub`.
pub(super) fn sum<const NEGATE: bool>(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    lower(
        l,
        mode,
        shape::binary_with(|mode: u16, a: Two, b: Two| {
            Two(sum_of_one::<NEGATE>(Mode(mode), a.0, b.0), sum_of_one::<NEGATE>(Mode(mode), a.1, b.1))
        }),
        2,
    )
}

/// Lowers `mul`.
pub(super) fn product(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    let product = shape::binary_with(|mode: u16, a: Two, b: Two| {
        Two(product_of_one(Mode(mode), a.0, b.0), product_of_one(Mode(mode), a.1, b.1))
    });
    lower(l, mode, product, 2)
}

/// Lowers `fma`.
pub(super) fn fused(l: &mut Lowering<'_>, mode: Mode) -> Result<(), LowerError> {
    let sum = shape::ternary_with(|mode: u16, a: Two, b: Two, c: Two| {
        Two(fused_of_one(Mode(mode), a.0, b.0, c.0), fused_of_one(Mode(mode), a.1, b.1, c.1))
    });
    lower(l, mode, sum, 3)
}

fn lower(l: &mut Lowering<'_>, mode: Mode, handlers: Handlers, sources: usize) -> Result<(), LowerError> {
    let ty = ScalarType::F32x2;
    emit::lanes(l, handlers, mode.0, ty, &[ty; 3][..sources])
}

#[inline(always)]
fn sum_of_one<const NEGATE: bool>(mode: Mode, a: f32, b: f32) -> f32 {
    let (a, b) = (mode.input(a), mode.input(if NEGATE { -b } else { b }));
    if mode.is_nearest() { mode.output(a + b) } else { mode.sum(a.into(), b.into()) }
}

#[inline(always)]
fn product_of_one(mode: Mode, a: f32, b: f32) -> f32 {
    let (a, b) = (mode.input(a), mode.input(b));
    if mode.is_nearest() {
        mode.flushed(a * b, (a * SCALE) * (b * SCALE))
    } else {
        mode.narrow(f64::from(a) * f64::from(b))
    }
}

#[inline(always)]
fn fused_of_one(mode: Mode, a: f32, b: f32, c: f32) -> f32 {
    let product = f64::from(mode.input(a)) * f64::from(mode.input(b));
    mode.sum(product, mode.input(c).into())
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
