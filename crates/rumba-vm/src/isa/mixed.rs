//! Lowering that the floating point instructions share: half precision, mixed precision, minimum and maximum.

use std::hint::select_unpredictable as select;
use std::marker::PhantomData;

use crate::base::ir::{Element, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16};
use crate::exec::shape;
use crate::exec::shape::{Scalar, conjure};
use crate::isa::float::{Extremum, Mode, canonical, extremum as of_two, flush};
use crate::isa::half::Half;
use crate::isa::{emit, form};
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::Handlers;

/// Handlers of a half precision operation with two operands; [`Mode`] in `extra`.
///
/// `f` and `g` are the same sum, difference or product: in a format of more than twice the precision, rounding it and
/// then once more to a half is as good as rounding once, as long as the wider result is not subnormal. `OPERATION` is the sign of
/// that operation, for native code.
pub fn halves<const OPERATION: char, F, G>(ty: ScalarType, mode: Mode, _: F, _: G) -> Result<Handlers, LowerError>
where
    F: Fn(f32, f32) -> f32 + 'static,
    G: Fn(f64, f64) -> f64 + 'static,
{
    Ok(match ty {
        ScalarType::F16 if mode.0 == 0 => {
            shape::lanes::<(F16, F16), Single<F, true>>().form(form_of_two::<OPERATION, false, false>)
        }
        ScalarType::F16x2 if mode.0 == 0 => {
            shape::halves::<(F16, F16), Single<F, true>>().form(form_of_two::<OPERATION, false, true>)
        }
        ScalarType::F16 => shape::lanes::<(F16, F16), Single<F>>().form(form_of_two::<OPERATION, false, false>),
        ScalarType::F16x2 => shape::halves::<(F16, F16), Single<F>>().form(form_of_two::<OPERATION, false, true>),
        // Results of bf16 that are subnormal need more range.
        ScalarType::Bf16 => shape::lanes::<(Bf16, Bf16), Double<G>>().form(form_of_two::<OPERATION, true, false>),
        ScalarType::Bf16x2 => shape::halves::<(Bf16, Bf16), Double<G>>().form(form_of_two::<OPERATION, true, true>),
        other => return Err(emit::no_such(other)),
    })
}

/// Writes the native code for a sum, a difference or a product of halves.
fn form_of_two<const OPERATION: char, const BF16: bool, const PACKED: bool>(
    w: &mut Writer,
    mode: u16,
    x: &[Value],
) -> Value {
    let operation = match OPERATION {
        '+' => "fadd",
        '-' => "fsub",
        _ => "fmul",
    };
    let half = form::Half::of(BF16);
    let one = |w: &mut Writer, x: &[Value]| {
        let [a, b] = [&x[0], &x[1]].map(|x| half.input(w, mode, x));
        if BF16 {
            let [a, b] = [&a, &b].map(|x| form::wide(w, x));
            let wide = w.binary(operation, &a, &b);
            half.output_wide(w, mode, &wide)
        } else {
            let single = w.binary(operation, &a, &b);
            half.output(w, mode, &single)
        }
    };
    if PACKED { form::by_halves(w, x, one) } else { one(w, x) }
}

/// A function of `f32` on halves; `PLAIN`: there are no modifiers to look at.
struct Single<F, const PLAIN: bool = false>(PhantomData<F>);

/// A function of `f64` on halves.
struct Double<F>(PhantomData<F>);

impl<T: Half, F: Fn(f32, f32) -> f32, const PLAIN: bool> Scalar<(T, T)> for Single<F, PLAIN> {
    type Output = T;

    #[inline(always)]
    fn call(mode: u16, (a, b): (T, T)) -> T {
        let mode = if PLAIN { Mode(0) } else { Mode(mode) };
        T::output(mode, conjure::<F>()(a.input(mode), b.input(mode)))
    }
}

impl<T: Half, F: Fn(f64, f64) -> f64> Scalar<(T, T)> for Double<F> {
    type Output = T;

    #[inline(always)]
    fn call(mode: u16, (a, b): (T, T)) -> T {
        let mode = Mode(mode);
        T::output_f64(mode, conjure::<F>()(a.input(mode).into(), b.input(mode).into()))
    }
}

impl<T: Half, F: Fn(f32) -> f32> Scalar<(T,)> for Single<F> {
    type Output = T;

    #[inline(always)]
    fn call(mode: u16, (a,): (T,)) -> T {
        let mode = Mode(mode);
        T::output(mode, conjure::<F>()(a.input(mode)))
    }
}

/// Handlers of a half precision function; [`Mode`] in `extra`.
pub fn half_function<F: Fn(f32) -> f32 + 'static>(ty: ScalarType, _: F) -> Result<Handlers, LowerError> {
    Ok(match ty {
        ScalarType::F16 => shape::lanes::<(F16,), Single<F>>(),
        ScalarType::F16x2 => shape::halves::<(F16,), Single<F>>(),
        ScalarType::Bf16 => shape::lanes::<(Bf16,), Single<F>>(),
        ScalarType::Bf16x2 => shape::halves::<(Bf16,), Single<F>>(),
        other => return Err(emit::no_such(other)),
    })
}

/// Handlers of an operation on the sign bits of halves, after flushing if `.ftz` is in `extra`; NaN becomes canonical.
pub fn signs<F: Fn(u16) -> u16 + 'static>(ty: ScalarType, _: F) -> Result<Handlers, LowerError> {
    Ok(match ty {
        ScalarType::F16 => shape::lanes::<(F16,), Sign<F>>(),
        ScalarType::F16x2 => shape::halves::<(F16,), Sign<F>>(),
        ScalarType::Bf16 => shape::lanes::<(Bf16,), Sign<F>>(),
        ScalarType::Bf16x2 => shape::halves::<(Bf16,), Sign<F>>(),
        other => return Err(emit::no_such(other)),
    })
}

/// A function of the bits of halves.
struct Sign<F>(PhantomData<F>);

impl<T: Half, F: Fn(u16) -> u16> Scalar<(T,)> for Sign<F> {
    type Output = T;

    #[inline(always)]
    fn call(mode: u16, (a,): (T,)) -> T {
        let subnormal = (mode & Mode::FTZ != 0) & (a.widen().abs() < T::MIN_POSITIVE);
        let bits = a.to_bits() & select(subnormal, 0x8000, 0xffff);
        T::from_bits(select(T::is_nan(a), T::NAN.to_bits(), conjure::<F>()(bits)))
    }
}

/// Emits operand `index`, a half, as `f32`.
fn widen(l: &mut Lowering<'_>, index: usize, ty: ScalarType) -> Result<VReg, LowerError> {
    let handlers = match ty {
        ScalarType::F16 => shape::unary(|a: F16| a.widen()).form(|w, _, x| form::Half::F16.widen(w, &x[0])),
        _ => shape::unary(|a: Bf16| a.widen()).form(|w, _, x| form::Half::Bf16.widen(w, &x[0])),
    };
    let a = l.source(index, ty)?;
    let dst = l.scratch(ScalarType::F32);
    emit::emit(l, handlers, 0, dst, [a, VReg::None, VReg::None, VReg::None]);
    Ok(dst)
}

/// Emits `d = f(a, c)` on `f32`, where `a` is a half.
pub fn widened(l: &mut Lowering<'_>, ty: ScalarType, mode: Mode, f: Handlers) -> Result<(), LowerError> {
    let a = widen(l, 1, ty)?;
    let c = l.source(2, ScalarType::F32)?;
    let dst = l.destination(0, ScalarType::F32)?;
    emit::emit(l, f, mode.0, dst, [a, c, VReg::None, VReg::None]);
    Ok(())
}

/// Emits `d = f(a, b, c)` on `f32`, where `a` and `b` are halves.
pub fn widened_product(l: &mut Lowering<'_>, ty: ScalarType, mode: Mode, f: Handlers) -> Result<(), LowerError> {
    let (a, b) = (widen(l, 1, ty)?, widen(l, 2, ty)?);
    let c = l.source(3, ScalarType::F32)?;
    let dst = l.destination(0, ScalarType::F32)?;
    emit::emit(l, f, mode.0, dst, [a, b, c, VReg::None]);
    Ok(())
}

/// Bits of `extra` for [`extremum`].
const NAN: u16 = 1;
const XORSIGN: u16 = 2;

/// Emits `min` or `max` of two operands.
pub fn extremum<const MAX: bool>(l: &mut Lowering<'_>, m: &Matched<'_>, ty: ScalarType) -> Result<(), LowerError> {
    let ftz = if m.has(".ftz") { Mode::FTZ } else { 0 };
    let nan = if m.has(".NaN") { NAN } else { 0 };
    let sign = if m.has(".xorsign") { XORSIGN } else { 0 };
    let handlers = match (ty, ftz | nan | sign) {
        (ScalarType::F32, 0) => shape::binary(|a: f32, b: f32| of_two(Extremum { max: MAX, nan: false }, a, b))
            .form(|w, _, x| form::extremum(w, Extremum { max: MAX, nan: false }, &x[0], &x[1])),
        (ScalarType::F32, Mode::FTZ) => {
            shape::binary(|a: f32, b: f32| of_two(Extremum { max: MAX, nan: false }, flush(a), flush(b))).form(
                |w, _, x| {
                    let [a, b] = [&x[0], &x[1]].map(|x| form::flush(w, x));
                    form::extremum(w, Extremum { max: MAX, nan: false }, &a, &b)
                },
            )
        }
        (ScalarType::F32, _) => shape::binary_with(|flags: u16, a: f32, b: f32| {
            let (a, b) = (Mode(flags & Mode::FTZ).input(a), Mode(flags & Mode::FTZ).input(b));
            let sign = select_sign(flags, (a.to_bits() ^ b.to_bits()) & 0x8000_0000);
            let clear = |x: f32| if flags & XORSIGN != 0 { x.abs() } else { x };
            let r = with_nan::<MAX, f32>(flags, clear(a), clear(b));
            f32::from_bits(r.to_bits() | select(r.is_nan(), 0, sign))
        })
        .form(form_of_extremum::<MAX>),
        (ScalarType::F16, _) => shape::lanes::<(F16, F16), OfHalves<MAX>>(),
        (ScalarType::Bf16, _) => shape::lanes::<(Bf16, Bf16), OfHalves<MAX>>(),
        (ScalarType::F16x2, _) => shape::halves::<(F16, F16), OfHalves<MAX>>(),
        (_, _) => shape::halves::<(Bf16, Bf16), OfHalves<MAX>>(),
    };
    emit::lanes(l, handlers, ftz | nan | sign, ty, &[ty, ty])
}

/// Writes the native code for `f32` with the flags in `extra`.
fn form_of_extremum<const MAX: bool>(w: &mut Writer, flags: u16, x: &[Value]) -> Value {
    const SIGN: u64 = 0x8000_0000;
    let which = Extremum { max: MAX, nan: flags & NAN != 0 };
    let [a, b] = [&x[0], &x[1]].map(|x| form::input(w, flags & Mode::FTZ, x));
    if flags & XORSIGN == 0 {
        return form::extremum(w, which, &a, &b);
    }
    let [a_bits, b_bits] = [&a, &b].map(|x| w.bits_as(x, Element::I32));
    let sign = w.xor(&a_bits, &b_bits);
    let sign = w.and_with(&sign, SIGN);
    let [a, b] = [&a, &b].map(|x| w.intrinsic("fabs", &[x]));
    let result = form::extremum(w, which, &a, &b);
    let bits = w.bits_as(&result, Element::I32);
    let nan = form::is_nan(w, &bits);
    let signed = w.or(&bits, &sign);
    let bits = w.select(&nan, &bits, &signed);
    w.bits_as(&bits, Element::F32)
}

#[inline(always)]
fn select_sign(flags: u16, sign: u32) -> u32 {
    if flags & XORSIGN != 0 { sign } else { 0 }
}

#[inline(always)]
fn with_nan<const MAX: bool, T: crate::isa::float::Ordered>(flags: u16, a: T, b: T) -> T {
    let number = of_two(Extremum { max: MAX, nan: false }, a, b);
    let nan = (flags & NAN != 0) & (a.is_nan() | b.is_nan());
    select(nan, T::NAN, number)
}

/// The smaller or the larger of two halves, with the flags in `extra`.
struct OfHalves<const MAX: bool>;

impl<const MAX: bool, T: Half> Scalar<(T, T)> for OfHalves<MAX> {
    type Output = T;

    #[inline(always)]
    fn call(flags: u16, (a, b): (T, T)) -> T {
        let flushed = |x: T| {
            let subnormal = (flags & Mode::FTZ != 0) & (x.widen().abs() < T::MIN_POSITIVE);
            T::from_bits(x.to_bits() & select(subnormal, 0x8000, 0xffff))
        };
        let (a, b) = (flushed(a), flushed(b));
        let sign = select_sign(flags, u32::from((a.to_bits() ^ b.to_bits()) & 0x8000)) as u16;
        let clear = |x: T| {
            if flags & XORSIGN != 0 { T::from_bits(x.to_bits() & 0x7fff) } else { x }
        };
        let r = with_nan::<MAX, T>(flags, clear(a), clear(b));
        T::from_bits(r.to_bits() | select(T::is_nan(r), 0, sign))
    }
}

/// Emits `min` or `max` of three `f32` operands.
pub fn extremum_of_three<const MAX: bool>(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    const ABS: u16 = 2;
    let ftz = if m.has(".ftz") { Mode::FTZ } else { 0 };
    let nan = if m.has(".NaN") { NAN } else { 0 };
    let abs = if m.has(".abs") { ABS } else { 0 };
    let handlers = shape::ternary_with(|flags: u16, a: f32, b: f32, c: f32| {
        let input = |x: f32| {
            let x = Mode(flags & Mode::FTZ).input(x);
            if flags & ABS != 0 { x.abs() } else { x }
        };
        let ab = with_nan::<MAX, f32>(flags, input(a), input(b));
        let abc = with_nan::<MAX, f32>(flags, ab, input(c));
        // The canonical NaN of the first pair counts only if NaN is asked for.
        canonical(abc)
    });
    emit::lanes(l, handlers, ftz | nan | abs, ScalarType::F32, &[ScalarType::F32; 3])
}
