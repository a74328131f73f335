//! Lowering that the floating point instructions share: half precision, mixed precision, minimum and maximum.

use std::marker::PhantomData;

use crate::arith::float::{Extremum, Mode, Ordered, extremum as of_two};
use crate::arith::half::Half;
use crate::arith::{Arith, F32, V, half, select};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16};
use crate::exec::shape;
use crate::exec::shape::{Function, Halves, by_extra, function};
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::Handlers;

/// Handlers of a half precision operation with two operands; a `Mode` in `extra`.
///
/// `f` and `g` are the same sum, difference or product: in a format of more than twice the precision, rounding it and
/// then once more to a half is as good as rounding once, as long as the wider result is not subnormal.
pub fn halves<F, G>(ty: ScalarType, mode: Mode, f: F, g: G) -> Result<Handlers, LowerError>
where
    F: Function<Operands = (f32, f32), Output = f32>,
    G: Function<Operands = (f64, f64), Output = f64>,
{
    Ok(match ty {
        ScalarType::F16 => by_extra!(mode.0, Single(f); 0),
        ScalarType::F16x2 => by_extra!(mode.0, Halves(Single(f)); 0),
        // Results of bf16 that are subnormal need more range.
        ScalarType::Bf16 => shape::lanes(Double(g)),
        ScalarType::Bf16x2 => shape::halves(Double(g)),
        other => return Err(emit::no_such(other)),
    })
}

/// A function of two `f32` on IEEE halves.
#[derive(Clone, Copy)]
struct Single<F>(F);

impl<F: Function<Operands = (f32, f32), Output = f32>> Function for Single<F> {
    type Operands = (F16, F16);
    type Output = F16;

    #[inline(always)]
    fn call<A: Arith>(mode: u16, (a, b): (V<A, F16>, V<A, F16>)) -> V<A, F16> {
        let mode = Mode(mode);
        half::output(mode, F::call(0, (a.input(mode), b.input(mode))))
    }
}

/// A function of two `f64` on `bf16`.
#[derive(Clone, Copy)]
struct Double<F>(F);

impl<F: Function<Operands = (f64, f64), Output = f64>> Function for Double<F> {
    type Operands = (Bf16, Bf16);
    type Output = Bf16;

    #[inline(always)]
    fn call<A: Arith>(mode: u16, (a, b): (V<A, Bf16>, V<A, Bf16>)) -> V<A, Bf16> {
        let mode = Mode(mode);
        half::output_f64(mode, F::call(0, (a.input(mode).widen(), b.input(mode).widen())))
    }
}

/// A function of `f32` on halves.
#[derive(Clone, Copy)]
struct OfSingle<F, T>(F, PhantomData<T>);

impl<F: Function<Operands = (f32,), Output = f32>, T: Half> Function for OfSingle<F, T> {
    type Operands = (T,);
    type Output = T;

    #[inline(always)]
    fn call<A: Arith>(mode: u16, (a,): (V<A, T>,)) -> V<A, T> {
        half::output(Mode(mode), F::call(0, (a.input(Mode(mode)),)))
    }
}

/// Handlers of a half precision function; a `Mode` in `extra`.
pub fn half_function<F: Function<Operands = (f32,), Output = f32>>(
    ty: ScalarType,
    f: F,
) -> Result<Handlers, LowerError> {
    Ok(match ty {
        ScalarType::F16 => shape::lanes(OfSingle::<_, F16>(f, PhantomData)),
        ScalarType::F16x2 => shape::halves(OfSingle::<_, F16>(f, PhantomData)),
        ScalarType::Bf16 => shape::lanes(OfSingle::<_, Bf16>(f, PhantomData)),
        ScalarType::Bf16x2 => shape::halves(OfSingle::<_, Bf16>(f, PhantomData)),
        other => return Err(emit::no_such(other)),
    })
}

/// Handlers of an operation on the sign bits of halves, after flushing if `.ftz` is in `extra`; NaN becomes canonical.
pub fn signs<F: Function<Operands = (u16,), Output = u16>>(ty: ScalarType, f: F) -> Result<Handlers, LowerError> {
    Ok(match ty {
        ScalarType::F16 => shape::lanes(Sign::<_, F16>(f, PhantomData)),
        ScalarType::F16x2 => shape::halves(Sign::<_, F16>(f, PhantomData)),
        ScalarType::Bf16 => shape::lanes(Sign::<_, Bf16>(f, PhantomData)),
        ScalarType::Bf16x2 => shape::halves(Sign::<_, Bf16>(f, PhantomData)),
        other => return Err(emit::no_such(other)),
    })
}

/// A function of the bits of halves.
#[derive(Clone, Copy)]
struct Sign<F, T>(F, PhantomData<T>);

impl<F: Function<Operands = (u16,), Output = u16>, T: Half> Function for Sign<F, T> {
    type Operands = (T,);
    type Output = T;

    #[inline(always)]
    fn call<A: Arith>(mode: u16, (a,): (V<A, T>,)) -> V<A, T> {
        select(T::is_nan(a), T::NAN, F::call(0, (a.flushed(Mode(mode)),))).reinterpret()
    }
}

/// Emits operand `index`, a half, as `f32`.
fn widen(l: &mut Lowering<'_>, index: usize, ty: ScalarType) -> Result<VReg, LowerError> {
    let handlers = match ty {
        ScalarType::F16 => shape::lanes(function!(|a: F16| -> f32 { a.single() })),
        _ => shape::lanes(function!(|a: Bf16| -> f32 { a.single() })),
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
    let flags = ftz | nan | sign;
    let handlers = match ty {
        ScalarType::F32 => by_extra!(flags, OfTwo::<MAX, f32>(PhantomData); 0 4),
        ScalarType::F16 => shape::lanes(OfTwo::<MAX, F16>(PhantomData)),
        ScalarType::Bf16 => shape::lanes(OfTwo::<MAX, Bf16>(PhantomData)),
        ScalarType::F16x2 => shape::halves(OfTwo::<MAX, F16>(PhantomData)),
        _ => shape::halves(OfTwo::<MAX, Bf16>(PhantomData)),
    };
    emit::lanes(l, handlers, flags, ty, &[ty, ty])
}

/// The smaller or the larger of two numbers, with the flags in `extra`.
#[derive(Clone, Copy)]
struct OfTwo<const MAX: bool, T>(PhantomData<T>);

/// A format whose subnormal operands an instruction may flush.
trait Flushed: Ordered {
    /// The bits of an operand: of a zero of its sign instead of a subnormal if the mode flushes.
    fn flushed<A: Arith>(x: V<A, Self>, mode: Mode) -> V<A, Self::Word>;
}

impl Flushed for f32 {
    #[inline(always)]
    fn flushed<A: Arith>(x: F32<A>, mode: Mode) -> V<A, u32> {
        mode.input(x).to_bits()
    }
}

macro_rules! flushed_halves {
    ($($T:ty)*) => {$(
        impl Flushed for $T {
            #[inline(always)]
            fn flushed<A: Arith>(x: V<A, Self>, mode: Mode) -> V<A, u16> {
                x.flushed(mode)
            }
        }
    )*};
}

flushed_halves!(F16 Bf16);

impl<const MAX: bool, T: Flushed> Function for OfTwo<MAX, T> {
    type Operands = (T, T);
    type Output = T;

    #[inline(always)]
    fn call<A: Arith>(flags: u16, (a, b): (V<A, T>, V<A, T>)) -> V<A, T> {
        let which = Extremum { max: MAX, nan: flags & NAN != 0 };
        let mode = Mode(flags & Mode::FTZ);
        let (a, b) = (T::flushed(a, mode), T::flushed(b, mode));
        if flags & XORSIGN == 0 {
            return of_two(which, a.reinterpret(), b.reinterpret());
        }
        let size = !V::from(T::SIGN);
        let r: V<A, T> = of_two(which, (a & size).reinterpret(), (b & size).reinterpret());
        let bits = r.reinterpret::<T::Word>();
        select(T::is_nan(r), bits, bits | ((a ^ b) & T::SIGN)).reinterpret()
    }
}

/// Emits `min` or `max` of three `f32` operands.
pub fn extremum_of_three<const MAX: bool>(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ftz = if m.has(".ftz") { Mode::FTZ } else { 0 };
    let nan = if m.has(".NaN") { NAN } else { 0 };
    let abs = if m.has(".abs") { ABS } else { 0 };
    emit::lanes(l, shape::lanes(OfThree::<MAX>), ftz | nan | abs, ScalarType::F32, &[ScalarType::F32; 3])
}

/// Bit of `extra` for [`OfThree`], beside [`NAN`].
const ABS: u16 = 2;

/// The smallest or the largest of three numbers, with the flags in `extra`.
#[derive(Clone, Copy)]
struct OfThree<const MAX: bool>;

impl<const MAX: bool> OfThree<MAX> {
    #[inline(always)]
    fn input<A: Arith>(flags: u16, x: F32<A>) -> F32<A> {
        let x = Mode(flags & Mode::FTZ).input(x);
        if flags & ABS != 0 { x.abs() } else { x }
    }
}

impl<const MAX: bool> Function for OfThree<MAX> {
    type Operands = (f32, f32, f32);
    type Output = f32;

    #[inline(always)]
    fn call<A: Arith>(flags: u16, (a, b, c): (F32<A>, F32<A>, F32<A>)) -> F32<A> {
        let which = Extremum { max: MAX, nan: flags & NAN != 0 };
        let (a, b, c) = (Self::input(flags, a), Self::input(flags, b), Self::input(flags, c));
        // The canonical NaN of the first pair counts only if NaN is asked for.
        of_two(which, of_two(which, a, b), c).canonical()
    }
}
