//! `add`: sum.

use super::Instruction;
use super::emit::{self, by_type};
use super::float::{Mode, by_mode, propagate};
use super::notation::Matched;
use super::shape;
use super::soft;
use crate::lower::{LowerError, Lowering};
use crate::op::Handlers;
use crate::types::ScalarType;

/// `add`
pub(super) static ADD: Instruction = Instruction {
    name: "add",
    section: "9.7.1.1, 9.7.2.1, 9.7.3.3, 9.7.4.1, 9.7.5.1",
    syntax: "
        add.type       d, a, b;
        add{.sat}.s32  d, a, b;
        .type = { .u16, .u32, .u64, .s16, .s64, .u16x2, .s16x2 };

        add.cc.type  d, a, b;
        .type = { .u32, .s32, .u64, .s64 };

        add{.rnd}{.ftz}{.sat}.f32  d, a, b;
        add{.rnd}.f64              d, a, b;
        .rnd = { .rn, .rz, .rm, .rp };

        add{.rnd}{.ftz}{.sat}.type  d, a, b;
        .rnd = { .rn };
        .type = { .f16, .f16x2 };

        add{.rnd}.type  d, a, b;
        .rnd = { .rn };
        .type = { .bf16, .bf16x2 };

        add{.rnd}{.sat}.f32.atype  d, a, c;
        .rnd = { .rn, .rz, .rm, .rp };
        .atype = { .f16, .bf16 };
    ",
    lower,
};

use super::mixed;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let float = |ty| (ty, sum(mode, ty));
    let (ty, sum) = match m.form() {
        0 => {
            let ty = m.ty("type")?;
            (ty, integer(ty))
        }
        1 if m.has(".sat") => (ScalarType::S32, Ok(shape::binary(|a: i32, b: i32| a.saturating_add(b)))),
        1 => (ScalarType::S32, integer(ScalarType::S32)),
        2 => {
            return super::addc::with_carry(
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
        7 => return mixed::widened(l, m.ty("atype")?, mode, sum(mode, ScalarType::F32)?),
        _ => float(m.ty("type")?),
    };
    emit::lanes(l, sum?, mode.0, ty, &[ty, ty])
}

fn integer(ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(
        by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::binary(|a: T, b: T| a.wrapping_add(b))
        ; U16x2 S16x2 => shape::binary(|a: T, b: T| a.zip(b, |a, b| a.wrapping_add(b)))),
    )
}

fn sum(mode: Mode, ty: ScalarType) -> Result<Handlers, LowerError> {
    match ty {
        ScalarType::F32 => Ok(by_mode!(
            mode,
            M => shape::binary(|a: f32, b: f32| M.output(M.input(a) + M.input(b))),
            shape::binary_with(|mode: u16, a: f32, b: f32| {
                let mode = Mode(mode);
                mode.sum(mode.input(a).into(), mode.input(b).into())
            })
        )),
        ScalarType::F64 if mode.is_nearest() => Ok(shape::binary(|a: f64, b: f64| propagate(a + b, a, b))),
        ScalarType::F64 => Ok(shape::binary_with(|mode: u16, a: f64, b: f64| {
            propagate(soft::add(a, b, Mode(mode).get_rounding(), soft::Format::F64), a, b)
        })),
        _ => mixed::halves(ty, mode, |a, b| a + b, |a, b| a + b),
    }
}
