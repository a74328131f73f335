//! `sub`: difference.

use super::Instruction;
use super::emit::{self, by_type};
use super::float::{Mode, by_mode, propagate};
use super::notation::Matched;
use super::shape;
use super::soft;
use crate::form::Linear;
use crate::lower::{LowerError, Lowering};
use crate::op::Handlers;
use crate::types::ScalarType;

/// `sub`
pub(super) static SUB: Instruction = Instruction {
    name: "sub",
    section: "9.7.1.2, 9.7.2.3, 9.7.3.4, 9.7.4.2, 9.7.5.2",
    syntax: "
        sub.type       d, a, b;
        sub{.sat}.s32  d, a, b;
        .type = { .u16, .u32, .u64, .s16, .s64 };

        sub.cc.type  d, a, b;
        .type = { .u32, .s32, .u64, .s64 };

        sub{.rnd}{.ftz}{.sat}.f32  d, a, b;
        sub{.rnd}.f64              d, a, b;
        .rnd = { .rn, .rz, .rm, .rp };

        sub{.rnd}{.ftz}{.sat}.type  d, a, b;
        .rnd = { .rn };
        .type = { .f16, .f16x2 };

        sub{.rnd}.type  d, a, b;
        .rnd = { .rn };
        .type = { .bf16, .bf16x2 };

        sub{.rnd}{.sat}.f32.atype  d, a, c;
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };

        sub{.rnd}{.ftz}.f32x2  d, a, b;
        .rnd = { .rn, .rz, .rm, .rp };
    ",
    lower,
};

use super::{f32x2, mixed};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let float = |ty| (ty, difference(mode, ty));
    let (ty, difference) = match m.form() {
        0 => {
            let ty = m.ty("type")?;
            (ty, integer(ty))
        }
        1 if m.has(".sat") => (ScalarType::S32, Ok(shape::binary(|a: i32, b: i32| a.saturating_sub(b)))),
        1 => (ScalarType::S32, integer(ScalarType::S32)),
        2 => {
            return super::subc::with_borrow(
                l,
                m.ty("type")?,
                shape::CarryUse {
                    reads: false,
                    writes: true,
                },
            );
        }
        3 => float(ScalarType::F32),
        4 => float(ScalarType::F64),
        7 => return mixed::widened(l, m.ty("atype")?, mode, difference(mode, ScalarType::F32)?),
        8 => return f32x2::sum::<true>(l, mode),
        _ => float(m.ty("type")?),
    };
    emit::lanes(l, difference?, mode.0, ty, &[ty, ty])
}

fn integer(ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(
        by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::binary(|a: T, b: T| a.wrapping_sub(b)).linear(Linear::Difference.of_bits(T::BITS))),
    )
}

fn difference(mode: Mode, ty: ScalarType) -> Result<Handlers, LowerError> {
    match ty {
        ScalarType::F32 => Ok(by_mode!(
            mode,
            M => shape::binary(|a: f32, b: f32| M.output(M.input(a) - M.input(b))),
            D => shape::binary_with(|mode: u16, a: f32, b: f32| {
                let mode = D.unwrap_or(Mode(mode));
                mode.sum(mode.input(a).into(), (-mode.input(b)).into())
            })
        )),
        ScalarType::F64 if mode.is_nearest() => Ok(shape::binary(|a: f64, b: f64| propagate(a - b, a, b))),
        ScalarType::F64 => Ok(shape::binary_with(|mode: u16, a: f64, b: f64| {
            propagate(soft::add(a, -b, Mode(mode).get_rounding(), soft::Format::F64), a, b)
        })),
        _ => mixed::halves(ty, mode, |a, b| a - b, |a, b| a - b),
    }
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("sub.s32 %r0, %r1, %r2", &[(&[0, 1], 0xffff_ffff)]);
        check("sub.sat.s32 %r0, %r1, %r2", &[(&[0x8000_0000, 1], 0x8000_0000)]);
    }

    #[test]
    fn floats() {
        check(
            "sub.f32 %r0, %r1, %r2",
            &[
                (&[0x4040_0000, 0x3f80_0000], 0x4000_0000),
                (&[0x7f80_0000, 0x7f80_0000], 0x7fff_ffff),
            ],
        );
        check(
            "sub.rm.f32 %r0, %r1, %r2",
            &[(&[0x3f80_0000, 0x3f80_0000], 0x8000_0000)],
        );
        check(
            "sub.f64 %rd0, %rd1, %rd2",
            &[(&[0x3ff0_0000_0000_0000, 0x7ff0_0000_0000_0001], 0x7ff8_0000_0000_0001)],
        );
        check("sub.f16x2 %r0, %r1, %r2", &[(&[0x4000_3c00, 0x3c00_3c00], 0x3c00_0000)]);
        check(
            "sub.rz.sat.f32.bf16 %r0, %h1, %r2",
            &[(&[0x4000, 0x3f00_0000], 0x3f80_0000)],
        );
    }
}
