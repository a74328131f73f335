//! The conversions of `cvt` that have an integer on one side or on both.

use std::hint::select_unpredictable as select;

use crate::base::ir::{Element, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16, Lane};
use crate::exec::shape;
use crate::isa::emit::by_type;
use crate::isa::float::{Mode, Ordered, Rounding, to_odd_f32};
use crate::isa::half::Half;
use crate::isa::{emit, form};
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::{Handlers, Linear};

/// Integer to integer: the low bits, or an extension as the source type says.
#[expect(clippy::unnecessary_cast, reason = "one source type is the destination type")]
pub(super) fn wrapping(to: ScalarType, from: ScalarType) -> Result<Handlers, LowerError> {
    let converted = by_type!(from, A: U8 S8 U16 S16 U32 S32 U64 S64 => match to.bits() {
        8 => shape::unary(|a: A| a as u8),
        16 => shape::unary(|a: A| a as u16),
        32 => shape::unary(|a: A| a as u32).linear(extension(from, 32)),
        _ => shape::unary(|a: A| a as u64).linear(extension(from, 64)),
    });
    // The write truncates a value that is wider than the result.
    Ok(match (from.is_signed(), to.bits()) {
        (true, 8 | 16 | 32) => converted.form(|w, _, x| resized(w, "sext", &x[0], Element::I32)),
        (true, _) => converted.form(|w, _, x| resized(w, "sext", &x[0], Element::I64)),
        (false, 8 | 16 | 32) => converted.form(|w, _, x| resized(w, "zext", &x[0], Element::I32)),
        (false, _) => converted.form(|w, _, x| resized(w, "zext", &x[0], Element::I64)),
    })
}

/// An integer with another number of bits.
fn resized(w: &mut Writer, extension: &str, x: &Value, element: Element) -> Value {
    if x.element().bits() < element.bits() { w.convert(extension, x, element) } else { w.bits_as(x, element) }
}

/// How an affine value of type `from` becomes one of `bits` bits.
fn extension(from: ScalarType, bits: u32) -> Linear {
    match (from.bits(), from.is_signed()) {
        (32, false) if bits == 64 => Linear::ZeroExtended,
        (32, true) if bits == 64 => Linear::SignExtended,
        (32 | 64, _) => Linear::Copy,
        _ => Linear::No,
    }
}

/// Integer to integer, clamped to the range of the destination.
pub(super) fn saturating(to: ScalarType, from: ScalarType) -> Result<Handlers, LowerError> {
    Ok(by_type!(from, A: U8 S8 U16 S16 U32 S32 U64 S64 => by_type!(to, D: U8 S8 U16 S16 U32 S32 U64 S64 => {
        const LOW: A = if D::MIN as i128 > A::MIN as i128 { D::MIN as A } else { A::MIN };
        const HIGH: A = if (D::MAX as i128) < A::MAX as i128 { D::MAX as A } else { A::MAX };
        shape::unary(|a: A| a.clamp(LOW, HIGH) as D)
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
    let packed = shape::ternary_with(|extra: u16, a: i32, b: i32, c: u32| {
        let (bits, signed) = (u32::from(extra >> 1), extra & 1);
        let span = (1_i32 << bits) - 1;
        let low = -(i32::from(signed) << (bits - 1));
        let part = |x: i32| (x.max(low).min(low + span) & span) as u32;
        // Two halves leave no room for a third operand.
        let above = (u64::from(c) << (2 * bits)) as u32;
        above | part(a) << bits | part(b)
    });
    emit::emit(l, packed, bits << 1 | u16::from(signed), dst, [a, b, c, VReg::None]);
    Ok(())
}

/// An expression for each rounding: `by_rounding!(mode, R => expression about the constant mode R)`.
macro_rules! by_rounding {
    ($mode:expr, $constant:ident => $body:expr) => {{
        macro_rules! with {
            ($rounding:ident) => {{
                const $constant: Mode = Mode::rounding($crate::isa::float::Rounding::$rounding);
                $body
            }};
        }
        match $mode.get_rounding() {
            $crate::isa::float::Rounding::Nearest => with!(Nearest),
            $crate::isa::float::Rounding::Zero => with!(Zero),
            $crate::isa::float::Rounding::Down => with!(Down),
            $crate::isa::float::Rounding::Up => with!(Up),
        }
    }};
}
pub(super) use by_rounding;

/// `x` rounded to an integer as the mode says.
#[inline(always)]
pub(super) fn integral(mode: Mode, x: f64) -> f64 {
    match mode.get_rounding() {
        Rounding::Nearest => x.round_ties_even(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
    }
}

/// `x` rounded to an integer as the mode says.
#[inline(always)]
pub(super) fn integral_single(mode: Mode, x: f32) -> f32 {
    match mode.get_rounding() {
        Rounding::Nearest => x.round_ties_even(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
    }
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
    let (between, round) = match from {
        ScalarType::F16 => {
            (ScalarType::F32, by_rounding!(mode, R => shape::unary(|a: F16| integral_single(R, a.widen()))))
        }
        ScalarType::Bf16 => {
            (ScalarType::F32, by_rounding!(mode, R => shape::unary(|a: Bf16| integral_single(R, a.widen()))))
        }
        ScalarType::F32 => (
            ScalarType::F32,
            by_rounding!(mode, R => shape::unary_with(|mode: u16, a: f32| integral_single(R, Mode(mode).input(a))))
                .form(|w, mode, x| {
                    let a = form::input(w, mode, &x[0]);
                    form::integral(w, mode, &a)
                }),
        ),
        _ => (
            ScalarType::F64,
            by_rounding!(mode, R => shape::unary(|a: f64| integral(R, a)))
                .form(|w, mode, x| form::integral(w, mode, &x[0])),
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
        ScalarType::F16 => shape::unary(|a: F16| select(a.is_nan(), D::NAN, D::clamped_single(a.widen()))),
        ScalarType::Bf16 => shape::unary(|a: Bf16| select(a.is_nan(), D::NAN, D::clamped_single(a.widen()))),
        ScalarType::F32 if D::BITS < 64 => shape::unary(|a: f32| select(a.is_nan(), D::NAN, D::clamped_single(a))).form(
            |w, _, x| {
                // NaN becomes zero.
                let name = if D::MIN == 0 { "fptoui.sat" } else { "fptosi.sat" };
                w.converting(name, &x[0], <D as Lane>::ELEMENT)
            },
        ),
        ScalarType::F32 => shape::unary(|a: f32| select(a.is_nan(), D::NAN, D::clamped_single(a))).form(clamping::<D>),
        ScalarType::F64 => shape::unary(|a: f64| select(a.is_nan(), D::INDEFINITE, D::clamped(a))).form(clamping::<D>),
        other => return Err(emit::no_such(other)),
    }))
}

/// Writes the native code of conversions in which NaN becomes the highest bit.
fn clamping<D: FromFloat + Lane>(w: &mut Writer, _: u16, x: &[Value]) -> Value {
    let name = if D::IS_SIGNED { "fptosi.sat" } else { "fptoui.sat" };
    let number = w.converting(name, &x[0], D::ELEMENT);
    let ordered = w.compare("fcmp ord", &x[0], &x[0]);
    let indefinite = Value::integer(D::ELEMENT, 1 << (D::ELEMENT.bits() - 1));
    w.select(&ordered, &number, &indefinite)
}

/// The integers as destinations, from `f32` and from `f64`.
trait FromFloat: Copy {
    /// Whether there are negative ones.
    const IS_SIGNED: bool;

    /// The highest bit only: what NaN becomes where 64 bits are involved.
    const INDEFINITE: Self;

    /// The result for an `f32` NaN: zero, except for integers of 64 bits.
    const NAN: Self;

    /// A number, towards zero, clamped to the type's range; anything for NaN.
    fn clamped(x: f64) -> Self;

    /// The same from `f32`.
    fn clamped_single(x: f32) -> Self;
}

macro_rules! from_float {
    ($($ty:ty, |$x:ident| $clamped:expr, $single:expr;)*) => {$(
        impl FromFloat for $ty {
            const IS_SIGNED: bool = <$ty>::MIN != 0;
            const INDEFINITE: Self = 1 << (<$ty>::BITS - 1);
            const NAN: Self = if <$ty>::BITS == 64 { Self::INDEFINITE } else { 0 };

            #[inline(always)]
            fn clamped($x: f64) -> Self {
                $clamped
            }

            #[inline(always)]
            fn clamped_single($x: f32) -> Self {
                $single
            }
        }
    )*};
}

/// `x` clamped to a range within that of `i32`, as that: unlike a cast, this is one instruction for several lanes.
#[inline(always)]
fn to_i32(x: f64, low: f64, high: f64) -> i32 {
    let x = select(x > low, x, low);
    let x = select(x < high, x, high);
    // SAFETY: the comparisons leave no NaN, and both bounds are within the range of `i32`.
    unsafe { x.to_int_unchecked() }
}

/// The same from `f32`, for ranges whose ends an `f32` can hold.
#[inline(always)]
fn to_i32_single(x: f32, low: f32, high: f32) -> i32 {
    let x = select(x > low, x, low);
    let x = select(x < high, x, high);
    // SAFETY: the comparisons leave no NaN, and both bounds are within the range of `i32`.
    unsafe { x.to_int_unchecked() }
}

/// The largest `f32` below 2^31.
const BELOW_2_31: f32 = 2_147_483_520.0;

from_float! {
    u8, |x| to_i32(x, 0.0, 255.0) as u8, to_i32_single(x, 0.0, 255.0) as u8;
    i8, |x| to_i32(x, -128.0, 127.0) as i8, to_i32_single(x, -128.0, 127.0) as i8;
    u16, |x| to_i32(x, 0.0, 65535.0) as u16, to_i32_single(x, 0.0, 65535.0) as u16;
    i16, |x| to_i32(x, -32768.0, 32767.0) as i16, to_i32_single(x, -32768.0, 32767.0) as i16;
    i32, |x| to_i32(x, f64::from(i32::MIN), f64::from(i32::MAX)), {
        select(x > BELOW_2_31, i32::MAX, to_i32_single(x, -2_147_483_648.0, BELOW_2_31))
    };
    u32, |x| {
        // The upper half of the range is moved to the lower one.
        let large = x >= 2_147_483_648.0;
        let low = to_i32(select(large, x - 2_147_483_648.0, x), 0.0, f64::from(i32::MAX)) as u32;
        select(large, low | 0x8000_0000, low)
    }, {
        let large = x > BELOW_2_31;
        let low = to_i32_single(select(large, x - 2_147_483_648.0, x), 0.0, BELOW_2_31) as u32;
        let low = select(large, low | 0x8000_0000, low);
        select(x > 4_294_967_040.0, u32::MAX, low)
    };
    u64, |x| x as u64, x as u64;
    i64, |x| x as i64, x as i64;
}

/// Integer to floating point, rounded as the mode says.
pub(super) fn to_float(to: ScalarType, from: ScalarType, mode: Mode) -> Result<Handlers, LowerError> {
    let plain = mode.0 == 0;
    let converted = by_type!(from, A: U8 S8 U16 S16 U32 S32 U64 S64 => match to {
        ScalarType::F32 if plain => shape::unary(|a: A| a as f32),
        ScalarType::F32 => shape::unary_with(|mode: u16, a: A| Mode(mode).narrow(a.jammed())),
        ScalarType::F64 if plain => shape::unary(|a: A| a as f64),
        ScalarType::F64 => shape::unary_with(|mode: u16, a: A| a.rounded(Mode(mode))),
        ScalarType::F16 => shape::unary_with(|mode: u16, a: A| half::<F16>(mode, a.jammed())),
        ScalarType::Bf16 => shape::unary_with(|mode: u16, a: A| half::<Bf16>(mode, a.jammed())),
        other => return Err(emit::no_such(other)),
    });
    Ok(match (to, from.is_signed()) {
        (ScalarType::F32, true) if plain => converted.form(|w, _, x| w.convert("sitofp", &x[0], Element::F32)),
        (ScalarType::F32, false) if plain => converted.form(|w, _, x| w.convert("uitofp", &x[0], Element::F32)),
        (ScalarType::F64, true) if plain => converted.form(|w, _, x| w.convert("sitofp", &x[0], Element::F64)),
        (ScalarType::F64, false) if plain => converted.form(|w, _, x| w.convert("uitofp", &x[0], Element::F64)),
        _ => converted,
    })
}

#[inline(always)]
fn half<T: Half>(mode: u16, x: f64) -> T {
    T::round(Mode(mode), to_odd_f32(x)).finish(Mode(mode & Mode::SAT))
}

/// The integers as sources.
trait ToFloat: Copy {
    /// As `f64`, exact or rounded to odd.
    fn jammed(self) -> f64;

    /// As `f64`, rounded as the mode says.
    fn rounded(self, mode: Mode) -> f64;
}

macro_rules! exact {
    ($($ty:ty)*) => {$(
        impl ToFloat for $ty {
            #[inline(always)]
            fn jammed(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn rounded(self, mode: Mode) -> f64 {
                saturate(mode, self.into())
            }
        }
    )*};
}

exact!(u8 i8 u16 i16 u32 i32);

impl ToFloat for u64 {
    #[inline(always)]
    fn jammed(self) -> f64 {
        // Of a number of more than 53 bits, the lowest eleven become one that says whether there was any.
        let sticky = u64::from(self & 0x7ff != 0) << 11;
        let short = self & !0x7ff | sticky;
        select(self < 1 << 53, self, short) as f64
    }

    #[inline(always)]
    fn rounded(self, mode: Mode) -> f64 {
        round_u64(mode, false, self)
    }
}

impl ToFloat for i64 {
    #[inline(always)]
    fn jammed(self) -> f64 {
        let magnitude = self.unsigned_abs().jammed();
        select(self < 0, -magnitude, magnitude)
    }

    #[inline(always)]
    fn rounded(self, mode: Mode) -> f64 {
        round_u64(mode, self < 0, self.unsigned_abs())
    }
}

#[inline(always)]
fn saturate(mode: Mode, x: f64) -> f64 {
    select(mode.0 & Mode::SAT != 0, crate::isa::float::saturate_f64(x), x)
}

/// A sign and a magnitude as `f64`.
#[inline(always)]
fn round_u64(mode: Mode, negative: bool, magnitude: u64) -> f64 {
    let near = magnitude as f64;
    // 2^64 itself would not fit.
    let (far, exact) = (near as u128, u128::from(magnitude));
    let (more, less) = match (mode.get_rounding(), negative) {
        (Rounding::Nearest, _) => (false, false),
        (Rounding::Up, false) | (Rounding::Down, true) => (far < exact, false),
        (Rounding::Zero, _) | (Rounding::Up, true) | (Rounding::Down, false) => (false, far > exact),
    };
    let bits = near.to_bits().wrapping_add(u64::from(more)).wrapping_sub(u64::from(less));
    let x = f64::from_bits(bits);
    saturate(mode, select(negative, -x, x))
}
