//! Combinators that turn a scalar function into handlers over the 32 lanes of a warp.
//!
//! The function is given as a closure that captures nothing. It is compiled twice, for any processor of the target and
//! for AVX2 with its companions, as a loop over the lanes that the compiler vectorises. For that the
//! closure should be free of branches ([`std::hint::select_unpredictable`] chooses between two values), and it must be
//! total: it also runs on the values of inactive lanes, whose results are dropped.
//!
//! This module does not decide what the scalar functions compute.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::base::ir::{Element, LaneForm, Value, Writer};
use crate::base::lanes::{FULL, LANES};
use crate::exec::lane::{Lane, Raw};
use crate::exec::part::{Bases, CHUNK, Part, Whole};
#[cfg(target_arch = "x86_64")]
use crate::exec::processor::Avx2;
use crate::exec::processor::{Baseline, Processor};
use crate::machine::op::{Handlers, Linear, OpKind, Pc};
use crate::machine::warp::Warp;

/// A value of a closure type that has no state.
#[inline(always)]
pub(crate) fn conjure<F>() -> F {
    const { assert!(size_of::<F>() == 0, "the closure of a handler captures something") };
    // SAFETY: the type has no bytes, and a value of it was given to the combinator that made the handler.
    unsafe { NonNull::<F>::dangling().read() }
}

/// Fills eight lanes.
#[inline(always)]
fn fill<R: Raw>(f: impl Fn(usize) -> R) -> [R; CHUNK] {
    let mut lanes = [R::ZERO; CHUNK];
    for (index, lane) in lanes.iter_mut().enumerate() {
        *lane = f(index);
    }
    lanes
}

/// The body of a handler, for each target.
trait Body {
    /// The types of the operands and of the result, if it is one over lanes.
    const OPERANDS: &'static [Element] = &[];
    const RESULT: Element = Element::I1;

    /// # Safety
    /// As for [`crate::machine::op::Handler`]; the processor is `X`, and the operands are good as `P`.
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc);
}

unsafe fn baseline<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Baseline, Whole>(warp, pc) };
    pc.next()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Avx2, Whole>(warp, pc) };
    pc.next()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn bases<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Avx2, Bases>(warp, pc) };
    pc.next()
}

#[cfg(not(target_arch = "x86_64"))]
use baseline as avx2;

#[cfg(not(target_arch = "x86_64"))]
unsafe fn bases<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Baseline, Bases>(warp, pc) };
    pc.next()
}

/// The handlers of a body that only whole slots will do for.
const fn whole<B: Body>() -> Handlers {
    Handlers { baseline: baseline::<B>, avx2: avx2::<B>, kind: OpKind::Opaque }
}

/// The handlers of a body whose result in a lane depends on that lane of the sources only.
const fn handlers<B: Body>() -> Handlers {
    whole::<B>().with_kind(OpKind::Lanes { bases: bases::<B>, linear: Linear::No, form: no_form::<B>() })
}

/// Handlers with a predicate as result.
const fn tests<B: Body>() -> Handlers {
    whole::<B>().with_kind(OpKind::Test { bases: bases::<B>, form: no_form::<B>() })
}

/// The types of a body that native code calls.
const fn no_form<B: Body>() -> LaneForm {
    LaneForm { form: None, operands: B::OPERANDS, result: B::RESULT }
}

/// A scalar function as a type, for those that are too large to be inlined of the compiler's own accord.
///
/// Implementations mark `call` `#[inline(always)]`: a call in the loop over lanes would keep it from being vectorised.
pub trait Scalar<Arguments> {
    /// The type of the result.
    type Output: Lane;

    /// The result for the operation's `extra` and these arguments.
    fn call(extra: u16, arguments: Arguments) -> Self::Output;
}

/// A closure that does not look at `extra`.
struct Plain<F>(PhantomData<F>);

/// A closure that is given `extra` first.
struct WithExtra<F>(PhantomData<F>);

/// The body that applies a function to lanes of these types.
struct Lanes<T, F>(PhantomData<(T, F)>);

/// The body that applies a function to both halves of registers.
struct Halves<T, F>(PhantomData<(T, F)>);

/// `dst = S(extra, a, …)`
#[expect(private_bounds, reason = "bodies are made here only")]
pub fn lanes<Arguments, S: Scalar<Arguments>>() -> Handlers
where
    Lanes<Arguments, S>: Body,
{
    handlers::<Lanes<Arguments, S>>()
}

/// `dst = S(extra, a, …)`, for each half of a register.
#[expect(private_bounds, reason = "bodies are made here only")]
pub fn halves<Arguments, S: Scalar<Arguments>>() -> Handlers
where
    Halves<Arguments, S>: Body,
{
    handlers::<Halves<Arguments, S>>()
}

/// `dst = f(a)`
pub fn unary<A: Lane, R: Lane, F: Fn(A) -> R>(_: F) -> Handlers {
    handlers::<Lanes<(A,), Plain<F>>>()
}

/// `dst = f(extra, a)`
pub fn unary_with<A: Lane, R: Lane, F: Fn(u16, A) -> R>(_: F) -> Handlers {
    handlers::<Lanes<(A,), WithExtra<F>>>()
}

/// `dst = f(a, b)`
pub fn binary<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R>(_: F) -> Handlers {
    handlers::<Lanes<(A, B), Plain<F>>>()
}

/// `dst = f(extra, a, b)`
pub fn binary_with<A: Lane, B: Lane, R: Lane, F: Fn(u16, A, B) -> R>(_: F) -> Handlers {
    handlers::<Lanes<(A, B), WithExtra<F>>>()
}

/// `dst = f(a, b, c)`
pub fn ternary<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R>(_: F) -> Handlers {
    handlers::<Lanes<(A, B, C), Plain<F>>>()
}

/// `dst = f(extra, a, b, c)`
pub fn ternary_with<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(u16, A, B, C) -> R>(_: F) -> Handlers {
    handlers::<Lanes<(A, B, C), WithExtra<F>>>()
}

/// `dst = f(a, b, c, d)`
pub fn quaternary<A: Lane, B: Lane, C: Lane, D: Lane, R: Lane, F: Fn(A, B, C, D) -> R>(_: F) -> Handlers {
    handlers::<Lanes<(A, B, C, D), Plain<F>>>()
}

/// `dst = f(extra, a, b)`, for each half of a register.
pub fn binary_halves<A: Lane<Raw = u32>, R: Lane<Raw = u32>, F: Fn(u16, A, A) -> R>(_: F) -> Handlers {
    handlers::<Halves<(A, A), WithExtra<F>>>()
}

impl<A, R: Lane, F: Fn(A) -> R> Scalar<(A,)> for Plain<F> {
    type Output = R;

    #[inline(always)]
    fn call(_: u16, (a,): (A,)) -> R {
        conjure::<F>()(a)
    }
}

impl<A, R: Lane, F: Fn(u16, A) -> R> Scalar<(A,)> for WithExtra<F> {
    type Output = R;

    #[inline(always)]
    fn call(extra: u16, (a,): (A,)) -> R {
        conjure::<F>()(extra, a)
    }
}

impl<A, B, R: Lane, F: Fn(A, B) -> R> Scalar<(A, B)> for Plain<F> {
    type Output = R;

    #[inline(always)]
    fn call(_: u16, (a, b): (A, B)) -> R {
        conjure::<F>()(a, b)
    }
}

impl<A, B, R: Lane, F: Fn(u16, A, B) -> R> Scalar<(A, B)> for WithExtra<F> {
    type Output = R;

    #[inline(always)]
    fn call(extra: u16, (a, b): (A, B)) -> R {
        conjure::<F>()(extra, a, b)
    }
}

impl<A, B, C, R: Lane, F: Fn(A, B, C) -> R> Scalar<(A, B, C)> for Plain<F> {
    type Output = R;

    #[inline(always)]
    fn call(_: u16, (a, b, c): (A, B, C)) -> R {
        conjure::<F>()(a, b, c)
    }
}

impl<A, B, C, R: Lane, F: Fn(u16, A, B, C) -> R> Scalar<(A, B, C)> for WithExtra<F> {
    type Output = R;

    #[inline(always)]
    fn call(extra: u16, (a, b, c): (A, B, C)) -> R {
        conjure::<F>()(extra, a, b, c)
    }
}

impl<A, B, C, D, R: Lane, F: Fn(A, B, C, D) -> R> Scalar<(A, B, C, D)> for Plain<F> {
    type Output = R;

    #[inline(always)]
    fn call(_: u16, (a, b, c, d): (A, B, C, D)) -> R {
        conjure::<F>()(a, b, c, d)
    }
}

impl<A, B, C, D, R: Lane, F: Fn(u16, A, B, C, D) -> R> Scalar<(A, B, C, D)> for WithExtra<F> {
    type Output = R;

    #[inline(always)]
    fn call(extra: u16, (a, b, c, d): (A, B, C, D)) -> R {
        conjure::<F>()(extra, a, b, c, d)
    }
}

impl<A: Lane, S: Scalar<(A,)>> Body for Lanes<(A,), S> {
    const OPERANDS: &'static [Element] = &[A::ELEMENT];
    const RESULT: Element = <S::Output as Lane>::ELEMENT;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            P::write::<X, <S::Output as Lane>::Raw>(warp, pc.dst, |index| {
                S::call(pc.extra, (P::lane::<A>(warp, pc.a, index),)).into_raw()
            });
        }
    }
}

impl<A: Lane, B: Lane, S: Scalar<(A, B)>> Body for Lanes<(A, B), S> {
    const OPERANDS: &'static [Element] = &[A::ELEMENT, B::ELEMENT];
    const RESULT: Element = <S::Output as Lane>::ELEMENT;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            P::write::<X, <S::Output as Lane>::Raw>(warp, pc.dst, |index| {
                S::call(pc.extra, (P::lane::<A>(warp, pc.a, index), P::lane::<B>(warp, pc.b, index))).into_raw()
            });
        }
    }
}

impl<A: Lane, B: Lane, C: Lane, S: Scalar<(A, B, C)>> Body for Lanes<(A, B, C), S> {
    const OPERANDS: &'static [Element] = &[A::ELEMENT, B::ELEMENT, C::ELEMENT];
    const RESULT: Element = <S::Output as Lane>::ELEMENT;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            P::write::<X, <S::Output as Lane>::Raw>(warp, pc.dst, |index| {
                S::call(
                    pc.extra,
                    (P::lane::<A>(warp, pc.a, index), P::lane::<B>(warp, pc.b, index), P::lane::<C>(warp, pc.c, index)),
                )
                .into_raw()
            });
        }
    }
}

impl<A: Lane, B: Lane, C: Lane, D: Lane, S: Scalar<(A, B, C, D)>> Body for Lanes<(A, B, C, D), S> {
    const OPERANDS: &'static [Element] = &[A::ELEMENT, B::ELEMENT, C::ELEMENT, D::ELEMENT];
    const RESULT: Element = <S::Output as Lane>::ELEMENT;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            P::write::<X, <S::Output as Lane>::Raw>(warp, pc.dst, |index| {
                S::call(
                    pc.extra,
                    (
                        P::lane::<A>(warp, pc.a, index),
                        P::lane::<B>(warp, pc.b, index),
                        P::lane::<C>(warp, pc.c, index),
                        P::lane::<D>(warp, pc.d, index),
                    ),
                )
                .into_raw()
            });
        }
    }
}

impl<A: Lane<Raw = u32>, S: Scalar<(A,)>> Body for Halves<(A,), S>
where
    S::Output: Lane<Raw = u32>,
{
    const OPERANDS: &'static [Element] = &[Element::I32];
    const RESULT: Element = Element::I32;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            P::write::<X, u32>(warp, pc.dst, |index| {
                let a = P::lane::<u32>(warp, pc.a, index);
                let low = S::call(pc.extra, (A::from_raw(a & 0xffff),)).into_raw();
                let high = S::call(pc.extra, (A::from_raw(a >> 16),)).into_raw();
                low | high << 16
            });
        }
    }
}

impl<A: Lane<Raw = u32>, S: Scalar<(A, A)>> Body for Halves<(A, A), S>
where
    S::Output: Lane<Raw = u32>,
{
    const OPERANDS: &'static [Element] = &[Element::I32, Element::I32];
    const RESULT: Element = Element::I32;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            P::write::<X, u32>(warp, pc.dst, |index| {
                let a = P::lane::<u32>(warp, pc.a, index);
                let b = P::lane::<u32>(warp, pc.b, index);
                let low = S::call(pc.extra, (A::from_raw(a & 0xffff), A::from_raw(b & 0xffff))).into_raw();
                let high = S::call(pc.extra, (A::from_raw(a >> 16), A::from_raw(b >> 16))).into_raw();
                low | high << 16
            });
        }
    }
}

impl<A: Lane<Raw = u32>, S: Scalar<(A, A, A)>> Body for Halves<(A, A, A), S>
where
    S::Output: Lane<Raw = u32>,
{
    const OPERANDS: &'static [Element] = &[Element::I32, Element::I32, Element::I32];
    const RESULT: Element = Element::I32;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            P::write::<X, u32>(warp, pc.dst, |index| {
                let a = P::lane::<u32>(warp, pc.a, index);
                let b = P::lane::<u32>(warp, pc.b, index);
                let c = P::lane::<u32>(warp, pc.c, index);
                let low =
                    S::call(pc.extra, (A::from_raw(a & 0xffff), A::from_raw(b & 0xffff), A::from_raw(c & 0xffff)))
                        .into_raw();
                let high =
                    S::call(pc.extra, (A::from_raw(a >> 16), A::from_raw(b >> 16), A::from_raw(c >> 16))).into_raw();
                low | high << 16
            });
        }
    }
}

/// Marks a body that writes a predicate.
struct ToPredicate<T>(PhantomData<T>);

/// All ones if bit 0 of `extra` asks for the opposite.
#[inline(always)]
fn negation(pc: Pc) -> u32 {
    0_u32.wrapping_sub(u32::from(pc.extra & 1))
}

/// `predicate dst = f(a)`; the opposite if bit 0 of `extra` is set.
pub fn test<A: Lane, F: Fn(A) -> bool + Copy>(_: F) -> Handlers {
    tests::<Lanes<ToPredicate<(A,)>, F>>()
}

impl<A: Lane, F: Fn(A) -> bool + Copy> Body for Lanes<ToPredicate<(A,)>, F> {
    const OPERANDS: &'static [Element] = &[A::ELEMENT];
    const RESULT: Element = Element::I1;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        let f = conjure::<F>();
        let mut mask = 0;
        for chunk in 0..LANES / CHUNK {
            // SAFETY: the caller promises that the operation's slots are good, and the processor is `X`.
            unsafe {
                let a = P::chunk::<A>(warp, pc.a, chunk, pc.imm as i32);
                let lanes = fill(|lane| A::Raw::spread(f(A::from_raw(a[lane]))));
                mask |= X::mask(&lanes) << (chunk * CHUNK);
            }
        }
        // SAFETY: the caller promises that the operation's predicates are good.
        unsafe { warp.set_predicate(pc.dst, mask ^ negation(pc)) };
    }
}

/// `predicate dst = f(a, b)`; the opposite if bit 0 of `extra` is set.
pub fn compare<A: Lane, F: Fn(A, A) -> bool + Copy>(_: F) -> Handlers {
    tests::<Lanes<ToPredicate<(A, A)>, F>>()
}

impl<A: Lane, F: Fn(A, A) -> bool + Copy> Body for Lanes<ToPredicate<(A, A)>, F> {
    const OPERANDS: &'static [Element] = &[A::ELEMENT, A::ELEMENT];
    const RESULT: Element = Element::I1;

    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        let f = conjure::<F>();
        let mut mask = 0;
        for chunk in 0..LANES / CHUNK {
            // SAFETY: the caller promises that the operation's slots are good, and the processor is `X`.
            unsafe {
                let a = P::chunk::<A>(warp, pc.a, chunk, pc.imm as i32);
                let b = P::chunk::<A>(warp, pc.b, chunk, (pc.imm >> 32) as i32);
                let lanes = fill(|lane| A::Raw::spread(f(A::from_raw(a[lane]), A::from_raw(b[lane]))));
                mask |= X::mask(&lanes) << (chunk * CHUNK);
            }
        }
        // SAFETY: the caller promises that the operation's predicates are good.
        unsafe { warp.set_predicate(pc.dst, mask ^ negation(pc)) };
    }
}

/// `dst = predicate c ? a : b`, for lanes of raw bits.
pub fn select<R: Raw>() -> Handlers {
    whole::<Lanes<R, ()>>().with_kind(OpKind::Select)
}

impl<R: Raw> Body for Lanes<R, ()> {
    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        let (out, a, b) = (warp.lanes::<R>(pc.dst), warp.lanes::<R>(pc.a), warp.lanes::<R>(pc.b));
        // SAFETY: the caller promises that the operation's slots and predicates are good, and the processor is `X`.
        unsafe {
            let mask = warp.predicate(pc.c);
            if warp.active == FULL {
                X::select(out, a, b, mask);
            } else {
                X::select(out, a, out, warp.active & mask);
                X::select(out, b, out, warp.active & !mask);
            }
        }
    }
}

/// The bits of [`crate::machine::op::Op::extra`] for [`carry`].
#[derive(Clone, Copy)]
pub struct CarryUse {
    /// The carry flag is an input; otherwise the closure sees a flag that is not set.
    pub reads: bool,
    /// The carry flag is an output.
    pub writes: bool,
}

impl CarryUse {
    /// As `extra`.
    pub fn extra(self) -> u16 {
        u16::from(self.reads) | u16::from(self.writes) << 1
    }
}

/// `(dst, CC.CF) = f(a, b, c, CC.CF)`; `extra` says which way the flag is used (see [`CarryUse`]).
pub fn carry<A: Lane, F: Fn(A, A, A, bool) -> (A, bool) + Copy>(_: F) -> Handlers {
    whole::<Lanes<(A, bool), F>>()
}

impl<A: Lane, F: Fn(A, A, A, bool) -> (A, bool) + Copy> Body for Lanes<(A, bool), F> {
    #[inline(always)]
    unsafe fn run<X: Processor, P: Part>(warp: &mut Warp, pc: Pc) {
        let f = conjure::<F>();
        let flag = if pc.extra & 1 != 0 { warp.carry } else { 0 };
        let mut mask = 0;
        let mut values = [A::Raw::ZERO; LANES];
        // SAFETY: the caller promises that the operation's slots are good, and the processor is `X`.
        unsafe {
            for chunk in 0..LANES / CHUNK {
                let a = Whole::chunk::<A>(warp, pc.a, chunk, 0);
                let b = Whole::chunk::<A>(warp, pc.b, chunk, 0);
                let c = Whole::chunk::<A>(warp, pc.c, chunk, 0);
                let flag = flag >> (chunk * CHUNK);
                let mut carries = [A::Raw::ZERO; CHUNK];
                for lane in 0..CHUNK {
                    let (value, carry) =
                        f(A::from_raw(a[lane]), A::from_raw(b[lane]), A::from_raw(c[lane]), flag & (1 << lane) != 0);
                    values[chunk * CHUNK + lane] = value.into_raw();
                    carries[lane] = A::Raw::spread(carry);
                }
                mask |= X::mask(&carries) << (chunk * CHUNK);
            }
            Whole::write::<X, A::Raw>(warp, pc.dst, |lane| values[lane]);
        }
        if pc.extra & 2 != 0 {
            warp.set_carry(mask);
        }
    }
}

/// `predicate dst = f(predicate a, predicate b)`, on whole masks, and the same for native code.
pub fn predicates<F: Fn(u32, u32) -> u32 + Copy>(_: F, form: fn(&mut Writer, u16, [&Value; 2]) -> Value) -> Handlers {
    unsafe fn run<F: Fn(u32, u32) -> u32 + Copy>(warp: &mut Warp, pc: Pc) -> Pc {
        let f = conjure::<F>();
        // SAFETY: the caller promises that the operation's predicates are good.
        unsafe {
            let mask = f(warp.predicate(pc.a), warp.predicate(pc.b));
            warp.set_predicate(pc.dst, mask);
        }
        pc.next()
    }
    Handlers::same(run::<F>).with_kind(OpKind::Masks { form })
}
