//! `mad`: product plus a third operand: of integers, or of floating point numbers with one rounding (as `fma`).

use super::Instruction;
use super::emit::{self, by_type};
use super::float::Mode;
use super::notation::Matched;
use super::shape;
use crate::lower::{LowerError, Lowering};
use crate::types::ScalarType;

/// `mad`
pub(super) static MAD: Instruction = Instruction {
    name: "mad",
    section: "9.7.1.4, 9.7.2.5, 9.7.3.7",
    syntax: "
        mad.half.type     d, a, b, c;
        mad.hi.sat.s32    d, a, b, c;
        .half = { .hi, .lo };
        .type = { .u16, .u32, .u64, .s16, .s32, .s64 };

        mad.wide.type  d, a, b, c;
        .type = { .u16, .u32, .s16, .s32 };

        mad.half.cc.type  d, a, b, c;
        .half = { .hi, .lo };
        .type = { .u32, .s32, .u64, .s64 };

        mad{.rnd}{.ftz}{.sat}.f32  d, a, b, c;
        mad{.rnd}.f64              d, a, b, c;
        .rnd = { .rn, .rz, .rm, .rp };
    ",
    lower,
};

use super::mul::{High, wide};
use super::{fma, madc};
use shape::CarryUse;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let high = m.get("half") == Some(".hi");
    let (dst, ty, sum) = match m.form() {
        0 => {
            let ty = m.ty("type")?;
            let sum = if high {
                by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::ternary(|a: T, b: T, c: T| T::high(a, b).wrapping_add(c)))
            } else {
                by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::ternary(|a: T, b: T, c: T| a.wrapping_mul(b).wrapping_add(c)))
            };
            (ty, ty, sum)
        }
        1 => {
            let sum = shape::ternary(|a: i32, b: i32, c: i32| i32::high(a, b).saturating_add(c));
            (ScalarType::S32, ScalarType::S32, sum)
        }
        2 => {
            let ty = m.ty("type")?;
            let sum = match ty {
                ScalarType::U16 => {
                    shape::ternary(|a: u16, b: u16, c: u32| (u32::from(a) * u32::from(b)).wrapping_add(c))
                }
                ScalarType::S16 => {
                    shape::ternary(|a: i16, b: i16, c: i32| (i32::from(a) * i32::from(b)).wrapping_add(c))
                }
                ScalarType::U32 => {
                    shape::ternary(|a: u32, b: u32, c: u64| (u64::from(a) * u64::from(b)).wrapping_add(c))
                }
                _ => shape::ternary(|a: i32, b: i32, c: i64| (i64::from(a) * i64::from(b)).wrapping_add(c)),
            };
            (wide(ty), ty, sum)
        }
        3 => {
            return madc::with_carry(
                l,
                m.ty("type")?,
                high,
                CarryUse {
                    reads: false,
                    writes: true,
                },
            );
        }
        4 => return fma::single(l, Mode::of(m)),
        _ => return fma::double(l, Mode::of(m)),
    };
    emit::lanes(l, sum, 0, dst, &[ty, ty, dst])
}
