//! The forms of `add`, `sub`, `mul` and `fma` that compute on two `f32` at once, which share a 64-bit register.

use crate::arith::float::Mode;
use crate::base::types::ScalarType;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::machine::op::Handlers;

/// Lowers an instruction, given the handlers of its function for the halves of registers.
pub(super) fn lower(l: &mut Lowering<'_>, mode: Mode, halves: Handlers, sources: usize) -> Result<(), LowerError> {
    let ty = ScalarType::F32x2;
    emit::lanes(l, halves, mode.0, ty, &[ty; 3][..sources])
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
