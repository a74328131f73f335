//! The conversions of `cvt` that have an integer on one side or on both.

use crate::arith::float::{Mode, saturate, to_odd_f32};
use crate::arith::{Arith, Bool, F32, F64, Float, Integer, Rounding, U64, V, native, select};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16};
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::cvt::to_half;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::Handlers;

/// Integer to integer: the low bits, or an extension as the source type says.
pub(super) fn wrapping(to: ScalarType, from: ScalarType) -> Result<Handlers, LowerError> {
    Ok(by_type!(from, A: U8 S8 U16 S16 U32 S32 U64 S64 => match to.bits() {
        8 => shape::lanes(function!(|a: A| -> u8 { a.cast() })),
        16 => shape::lanes(function!(|a: A| -> u16 { a.cast() })),
        32 => shape::lanes(function!(|a: A| -> u32 { a.cast() })),
        _ => shape::lanes(function!(|a: A| -> u64 { a.cast() })),
    }))
}

/// Integer to integer, clamped to the range of the destination.
pub(super) fn saturating(to: ScalarType, from: ScalarType) -> Result<Handlers, LowerError> {
    Ok(by_type!(from, A: U8 S8 U16 S16 U32 S32 U64 S64 => by_type!(to, D: U8 S8 U16 S16 U32 S32 U64 S64 => {
        const LOW: A = if D::MIN as i128 > A::MIN as i128 { D::MIN as A } else { A::MIN };
        const HIGH: A = if (D::MAX as i128) < A::MAX as i128 { D::MAX as A } else { A::MAX };
        shape::lanes(function!(|a: A| -> D { a.max(LOW).min(HIGH).cast() }))
    })))
}

/// Lowers `cvt.pack`: two integers, clamped, as the low bits of a register; what the third operand holds moves up.
pub(super) fn pack(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let (text, third) = match m.get("half") {
        Some(text) => (text, false),
        None => (m.get("part").unwrap_or_default(), true),
    };
    let (signed, bits) = (text.starts_with(".s"), text[2..].parse::<u16>().unwrap_or(16));
    let a = l.source(1, ScalarType::S32)?;
    let b = l.source(2, ScalarType::S32)?;
    let c = if third { l.source(3, ScalarType::B32)? } else { l.constant(ScalarType::B32, 0) };
    let dst = l.destination(0, ScalarType::B32)?;
    let packed = shape::lanes(function!(extra; |a: i32, b: i32, c: u32| -> u32 {
        let (bits, signed) = (u32::from(extra >> 1), extra & 1);
        let span = (1_i32 << bits) - 1;
        let low = -(i32::from(signed) << (bits - 1));
        let a = (a.max(low).min(low + span) & span).reinterpret::<u32>();
        let b = (b.max(low).min(low + span) & span).reinterpret::<u32>();
        // Two halves leave no room for a third operand.
        let above = (c.cast::<u64>() << (2 * bits)).cast::<u32>();
        above | a << bits | b
    }));
    emit::emit(l, packed, bits << 1 | u16::from(signed), dst, [a, b, c, VReg::None]);
    Ok(())
}

/// Emits a conversion from floating point to an integer, clamped.
///
/// A rounding other than towards zero, which the conversion does by itself, is an operation of its own, and so is
/// flushing.
pub(super) fn from_float(
    l: &mut Lowering<'_>,
    (dst, to): (VReg, ScalarType),
    (a, from): (VReg, ScalarType),
    mode: Mode,
) -> Result<(), LowerError> {
    let places = |a| [a, VReg::None, VReg::None, VReg::None];
    if mode == Mode::rounding(Rounding::Zero) {
        emit::emit(l, clamped(to, from)?, 0, dst, places(a));
        return Ok(());
    }
    // Of an `f32`, subnormals may be flushed.
    let (between, round) = match from {
        ScalarType::F16 => (
            ScalarType::F32,
            shape::by_integral(
                mode,
                function!(mode; |a: F16| -> f32 {
                    a.single().round(Mode(mode).get_rounding())
                }),
            ),
        ),
        ScalarType::Bf16 => (
            ScalarType::F32,
            shape::by_integral(
                mode,
                function!(mode; |a: Bf16| -> f32 {
                    a.single().round(Mode(mode).get_rounding())
                }),
            ),
        ),
        ScalarType::F32 => (
            ScalarType::F32,
            shape::by_integral(
                mode,
                function!(mode; |a: f32| -> f32 {
                    Mode(mode).input(a).round(Mode(mode).get_rounding())
                }),
            ),
        ),
        _ => (
            ScalarType::F64,
            shape::by_integral(
                mode,
                function!(mode; |a: f64| -> f64 {
                    a.round(Mode(mode).get_rounding())
                }),
            ),
        ),
    };
    let rounded = l.scratch(between);
    emit::emit(l, round, mode.0, rounded, places(a));
    emit::emit(l, clamped(to, between)?, 0, dst, places(rounded));
    Ok(())
}

/// Floating point to integer, towards zero and clamped. Where 64 bits are involved, NaN becomes the highest bit instead
/// of zero.
fn clamped(to: ScalarType, from: ScalarType) -> Result<Handlers, LowerError> {
    Ok(by_type!(to, D: U8 S8 U16 S16 U32 S32 U64 S64 => match from {
        ScalarType::F16 => shape::lanes(function!(|a: F16| -> D { of_single(a.single()) })),
        ScalarType::Bf16 => shape::lanes(function!(|a: Bf16| -> D { of_single(a.single()) })),
        ScalarType::F32 => shape::lanes(function!(|a: f32| -> D { of_single(a) })),
        ScalarType::F64 => shape::lanes(function!(|a: f64| -> D { indefinite(a) })),
        other => return Err(emit::no_such(other)),
    }))
}

/// An integer of an `f32`: zero of NaN, except for integers of 64 bits.
#[inline(always)]
fn of_single<A: Arith, D: Integer>(x: F32<A>) -> V<A, D> {
    if D::BITS == 64 { indefinite(x) } else { x.to_integer() }
}

/// An integer of a number: the highest bit only of NaN.
#[inline(always)]
fn indefinite<A: Arith, F: Float, D: Integer>(x: V<A, F>) -> V<A, D> {
    select(x.is_nan(), D::from_word(1 << (D::BITS - 1)), x.to_integer())
}

/// Integer to floating point, rounded as the mode says.
pub(super) fn to_float(to: ScalarType, from: ScalarType, mode: Mode) -> Result<Handlers, LowerError> {
    Ok(by_type!(from, T: U8 S8 U16 S16 U32 S32 U64 S64 => match to {
        ScalarType::F32 if mode.0 == 0 => shape::lanes(function!(|a: T| -> f32 { a.to_float() })),
        ScalarType::F32 => shape::lanes(function!(mode; |a: T| -> f32 { Mode(mode).narrow(jammed(a)) })),
        ScalarType::F64 if mode.0 == 0 => shape::lanes(function!(|a: T| -> f64 { a.to_float() })),
        ScalarType::F64 if T::BITS < 64 => shape::lanes(function!(mode; |a: T| -> f64 {
            let x = a.to_float();
            select(Mode(mode).has(Mode::SAT), saturate(x), x)
        })),
        #[allow(clippy::unnecessary_cast, reason = "the cast is needed for other types")]
        ScalarType::F64 => shape::called(|mode: u16, a: T| rounded(Mode(mode), a as i128)),
        ScalarType::F16 => shape::lanes(function!(mode; |a: T| -> F16 { to_half(Mode(mode), to_odd_f32(jammed(a))) })),
        ScalarType::Bf16 => shape::lanes(function!(mode; |a: T| -> Bf16 { to_half(Mode(mode), to_odd_f32(jammed(a))) })),
        other => return Err(emit::no_such(other)),
    }))
}

/// An integer as `f64`, exact or rounded to odd.
#[inline(always)]
fn jammed<A: Arith, T: Integer>(x: V<A, T>) -> F64<A> {
    if T::BITS < 64 {
        return x.to_float();
    }
    let bits: U64<A> = x.cast();
    let negative = if T::IS_SIGNED { bits.reinterpret::<i64>().lt(0) } else { Bool::from(false) };
    let size = select(negative, -bits, bits);
    // Of a number of more than 53 bits, the lowest eleven become one that says whether there was any.
    let sticky = (size & 0x7ff).ne(0).to_integer::<u64>() << 11;
    let short = (size & !0x7ff) | sticky;
    let size: F64<A> = select(size.lt(1 << 53), size, short).to_float();
    select(negative, -size, size)
}

/// An integer of 64 bits as `f64`, rounded as the mode says.
fn rounded(mode: Mode, x: i128) -> f64 {
    let (negative, magnitude) = (x < 0, x.unsigned_abs());
    let near = magnitude as f64;
    // 2^64 itself would not fit.
    let far = near as u128;
    let (more, less) = match (mode.get_rounding(), negative) {
        (Rounding::Nearest, _) => (false, false),
        (Rounding::Up, false) | (Rounding::Down, true) => (far < magnitude, false),
        (Rounding::Zero, _) | (Rounding::Up, true) | (Rounding::Down, false) => (false, far > magnitude),
    };
    let bits = near.to_bits().wrapping_add(u64::from(more)).wrapping_sub(u64::from(less));
    let x = f64::from_bits(bits);
    let x = if negative { -x } else { x };
    if mode.has(Mode::SAT) { saturate(native(x)).0 } else { x }
}
