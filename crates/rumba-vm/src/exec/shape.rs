//! Combinators that turn a scalar function into handlers over the 32 lanes of a warp, and into native code.
//!
//! A [`Function`] is written once, for any arithmetic ([`crate::arith`]); [`function!`] makes one of an expression. The
//! interpreter compiles it twice, for any processor of the target and for AVX2 with its companions, as a loop over the
//! lanes that the compiler vectorises. For that the function should be free of branches ([`select`](crate::arith::select)
//! chooses between two values), and it must be total: it also runs on the values of inactive lanes, whose results are
//! dropped. Native code gets the operations of the function.
//!
//! [`called`] is for functions that would be too large as native code: it takes a closure on Rust's numbers that
//! captures nothing, and native code calls the interpreter's handler.
//!
//! This module does not decide what the scalar functions compute.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::arith::float::Mode;
use crate::arith::{Arith, Builder, Emit, Form, Integer, LaneForm, Native, Operand, Operands, Plain, Scalar, V};
use crate::base::ir::{Element, Value};
use crate::base::lanes::{FULL, GROUP, LANES};
use crate::exec::body::{Body, handlers};
use crate::exec::lane::{Bf16, F16, Lane, Raw};
#[cfg(target_arch = "x86_64")]
use crate::exec::processor::Baseline;
use crate::exec::processor::Processor;
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// A scalar function of lanes.
///
/// Implementations mark `call` `#[inline(always)]`: a call in the loop over lanes would keep it from being vectorised.
pub trait Function: Copy + 'static {
    /// The types of the operands.
    type Operands: Operands;

    /// The type of the result.
    type Output: Scalar;

    /// The result for the operation's `extra` and these operands.
    fn call<A: Arith>(extra: u16, operands: <Self::Operands as Operands>::Of<A>) -> V<A, Self::Output>;
}

/// The [`Function`] of an expression: `function!(|a: u32, b: u32| -> u32 { a + b })`. To look at the operation's `extra`,
/// name it first: `function!(mode; |a: f32| -> f32 { … })`.
macro_rules! function {
    (|$($x:ident: $T:ty),*| -> $R:ty $body:block) => {
        $crate::exec::shape::function!(_extra; |$($x: $T),*| -> $R $body)
    };
    ($extra:ident; |$($x:ident: $T:ty),*| -> $R:ty $body:block) => {{
        #[derive(Clone, Copy)]
        struct Expression;

        impl $crate::exec::shape::Function for Expression {
            type Operands = ($($T,)*);
            type Output = $R;

            #[inline(always)]
            fn call<Numbers: $crate::arith::Arith>(
                $extra: u16,
                ($($x,)*): <Self::Operands as $crate::arith::Operands>::Of<Numbers>,
            ) -> $crate::arith::V<Numbers, $R> $body
        }

        Expression
    }};
}
pub(crate) use function;

/// A value of a closure type that has no state.
#[inline(always)]
pub(crate) fn conjure<F>() -> F {
    const { assert!(size_of::<F>() == 0, "the closure of a handler captures something") };
    // SAFETY: the type has no bytes, and a value of it was given to the combinator that made the handler.
    unsafe { NonNull::<F>::dangling().read() }
}

/// Fills eight lanes.
#[inline(always)]
fn fill<X: Processor, R: Raw>(f: impl Fn(usize) -> R) -> [R; CHUNK] {
    let mut lanes = [R::ZERO; CHUNK];
    for (index, lane) in lanes.iter_mut().enumerate() {
        *lane = f(X::index(index) % CHUNK);
    }
    lanes
}

/// Lanes that are read together.
const CHUNK: usize = GROUP;

/// One lane of a slot.
///
/// # Safety
/// `slot` is a slot for `T` of the warp's program; `lane` is below 32.
#[inline(always)]
unsafe fn read_lane<T: Lane>(warp: &Warp, slot: u16, lane: usize) -> T {
    // SAFETY: the slot has 32 lanes.
    T::from_raw(unsafe { warp.lanes::<T::Raw>(slot).add(lane).read() })
}

/// Eight lanes of a slot.
///
/// # Safety
/// `slot` is a slot for `T` of the warp's program; `chunk` is below 4.
#[inline(always)]
unsafe fn read_chunk<T: Lane>(warp: &Warp, slot: u16, chunk: usize) -> [T::Raw; CHUNK] {
    // SAFETY: the slot has 32 lanes.
    unsafe { warp.lanes::<[T::Raw; CHUNK]>(slot).add(chunk).read() }
}

/// Writes the active lanes of a slot from a function of the lane, which is called for all lanes.
///
/// The values are collected first: a loop that stores to a place of its own is one that the compiler vectorises, and
/// it keeps them in registers on their way to the slot. A source may share the slot.
///
/// # Safety
/// `slot` is a slot for `R` of the warp's program; the processor is `X`.
#[inline(always)]
unsafe fn write_lanes<X: Processor, R: Raw>(warp: &Warp, slot: u16, compute: impl Fn(usize) -> R) {
    let mut values = [R::ZERO; LANES];
    for (lane, value) in values.iter_mut().enumerate() {
        *value = compute(X::index(lane));
    }
    let place = warp.lanes::<R>(slot);
    // SAFETY: both places have 32 lanes.
    unsafe {
        if warp.active == FULL {
            place.cast::<[R; LANES]>().write(values);
        } else {
            // A copy, so that `values` itself may stay in registers.
            let values = values;
            X::select::<R>(place, values.as_ptr(), place, warp.active);
        }
    }
}

/// A function of lanes, with its native code, if it has some.
const fn of_lanes<Arguments: LaneOperands>(form: Option<Form>, result: Element) -> LaneForm {
    LaneForm { form, operands: Arguments::ELEMENTS, result }
}

/// A function as native code and its analyses use it.
pub const fn form_of<F: Function>(_: F) -> Form {
    form::<F>()
}

const fn form<F: Function>() -> Form {
    // Not a closure: each would be compiled twice, the second time as what a pointer to it calls.
    fn build<F: Function>(builder: &Builder, extra: u16, operands: &[Value]) -> Operand {
        F::call::<Emit<'_>>(extra, F::Operands::inputs(builder, operands)).operand()
    }
    Form::new(build::<F>)
}

/// The result of a function of numbers that does not look at `extra`.
#[inline(always)]
pub fn apply<F: Function>(_: F, operands: F::Operands) -> F::Output {
    F::call::<Native<true>>(0, operands.values()).0
}

/// Operands that lie in lanes of the slots `a`, `b`, `c` and `d`.
pub trait LaneOperands: Operands {
    /// The types.
    const ELEMENTS: &'static [Element];

    /// Eight lanes of each operand.
    type Chunk: Copy;

    /// A truth value as a lane that is as wide as the first operand.
    type Truth: Raw;

    /// The operands of a lane.
    ///
    /// # Safety
    /// `pc` is an operation of the warp's program with slots of these types; `lane` is below 32.
    unsafe fn read<N: Plain>(warp: &Warp, pc: Pc, lane: usize) -> Self::Of<N>;

    /// The operands of eight lanes.
    ///
    /// # Safety
    /// As for [`Self::read`]; `chunk` is below 4.
    unsafe fn chunk(warp: &Warp, pc: Pc, chunk: usize) -> Self::Chunk;

    /// The operands of a lane of eight.
    fn of_chunk<N: Plain>(chunk: &Self::Chunk, lane: usize) -> Self::Of<N>;
}

macro_rules! lane_operands {
    ($($first:ident $($T:ident $x:ident $slot:ident),*;)*) => {$(
        impl<$($T: Lane),*> LaneOperands for ($($T,)*) {
            const ELEMENTS: &'static [Element] = &[$($T::ELEMENT),*];

            type Chunk = ($([$T::Raw; CHUNK],)*);
            type Truth = $first::Raw;

            #[inline(always)]
            unsafe fn read<N: Plain>(warp: &Warp, pc: Pc, lane: usize) -> Self::Of<N> {
                // SAFETY: as the caller promises.
                unsafe { ($(N::of(read_lane::<$T>(warp, pc.$slot, lane)),)*) }
            }

            #[inline(always)]
            unsafe fn chunk(warp: &Warp, pc: Pc, chunk: usize) -> Self::Chunk {
                // SAFETY: as the caller promises.
                unsafe { ($(read_chunk::<$T>(warp, pc.$slot, chunk),)*) }
            }

            #[inline(always)]
            fn of_chunk<N: Plain>(($($x,)*): &Self::Chunk, lane: usize) -> Self::Of<N> {
                ($(N::of($T::from_raw($x[lane])),)*)
            }
        }
    )*};
}

lane_operands! {
    T T x a;
    T T x a, U y b;
    T T x a, U y b, W z c;
    T T x a, U y b, W z c, X u d;
}

/// The body that applies a function to lanes, with the operation's `extra` or with what the interpreter knows of it.
struct Lanes<F, E = Extra>(PhantomData<(F, E)>);

/// What the interpreter knows of the `extra` of an operation.
trait Known {
    /// The `extra` of an operation that has this one.
    fn of(extra: u16) -> u16;
}

/// Nothing.
struct Extra;

impl Known for Extra {
    #[inline(always)]
    fn of(extra: u16) -> u16 {
        extra
    }
}

/// The whole of it.
struct At<const EXTRA: u16>;

impl<const EXTRA: u16> Known for At<EXTRA> {
    #[inline(always)]
    fn of(_: u16) -> u16 {
        EXTRA
    }
}

/// The rounding of a [`Mode`].
struct Rounding<const ROUNDING: u16>;

impl<const ROUNDING: u16> Known for Rounding<ROUNDING> {
    #[inline(always)]
    fn of(extra: u16) -> u16 {
        extra & !3 | ROUNDING
    }
}

impl<F: Function<Operands: LaneOperands, Output: Lane>, E: Known> Body for Lanes<F, E> {
    const OPCODE: Opcode = Opcode::of_lanes(of_lanes::<F::Operands>(Some(form::<F>()), F::Output::ELEMENT));

    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            write_lanes::<X, <F::Output as Lane>::Raw>(warp, pc.dst, |lane| {
                let operands = F::Operands::read::<X::Numbers>(warp, pc, lane);
                X::Numbers::number(F::call(E::of(pc.extra), operands)).into_raw()
            });
        }
        pc.next()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_by_lane(warp: &mut Warp, pc: Pc) -> Pc {
        /// The result in a lane.
        ///
        /// # Safety
        /// As for [`LaneOperands::read`].
        unsafe fn result<F: Function<Operands: LaneOperands, Output: Lane>>(
            warp: &Warp,
            pc: Pc,
            lane: usize,
        ) -> <F::Output as Lane>::Raw {
            type Numbers = <Baseline as Processor>::Numbers;
            // SAFETY: as the caller promises.
            let operands = unsafe { F::Operands::read::<Numbers>(warp, pc, lane) };
            Numbers::number(F::call(pc.extra, operands)).into_raw()
        }
        // SAFETY: as the caller promises; `result` is the operation's.
        unsafe { write_by_lane(warp, pc, result::<F>) }
    }
}

/// Writes the active lanes of an operation's destination.
///
/// # Safety
/// `pc` is an operation of the warp's program whose destination is a slot for `R`, and `result` is for this operation.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn write_by_lane<R: Raw>(warp: &mut Warp, pc: Pc, result: unsafe fn(&Warp, Pc, usize) -> R) -> Pc {
    // SAFETY: as the caller promises; each processor of the target is `Baseline`.
    unsafe { write_lanes::<Baseline, R>(warp, pc.dst, |lane| result(warp, pc, lane)) };
    pc.next()
}

/// `dst = f(a, …)`
pub fn lanes<F: Function<Operands: LaneOperands, Output: Lane>>(_: F) -> Handlers {
    handlers::<Lanes<F>>()
}

/// `dst = f(a, …)`, where `extra` is known when the interpreter is compiled.
pub fn at<const EXTRA: u16, F: Function<Operands: LaneOperands, Output: Lane>>(_: F) -> Handlers {
    handlers::<Lanes<F, At<EXTRA>>>()
}

/// The handlers of a function by its operation's `extra`, of which the interpreter has a copy for each of these.
macro_rules! by_extra {
    ($extra:expr, $function:expr; $($bits:literal)*) => {{
        let function = $function;
        match $extra {
            $($bits => $crate::exec::shape::at::<$bits, _>(function),)*
            _ => $crate::exec::shape::lanes(function),
        }
    }};
}
pub(crate) use by_extra;

/// `dst = f(a, …)`, with a [`Mode`] as `extra`, of which the interpreter has a copy for each mode that compilers write often: to
/// nearest, with and without subnormal numbers.
pub fn by_mode<F: Function<Operands: LaneOperands, Output: Lane>>(mode: Mode, function: F) -> Handlers {
    by_extra!(mode.0, function; 0 4)
}

/// As [`by_mode`], for a function that only rounds: with a copy for each rounding.
pub fn by_integral<F: Function<Operands: LaneOperands, Output: Lane>>(mode: Mode, _: F) -> Handlers {
    match mode.0 & 3 {
        0 => handlers::<Lanes<F, Rounding<0>>>(),
        1 => handlers::<Lanes<F, Rounding<1>>>(),
        2 => handlers::<Lanes<F, Rounding<2>>>(),
        _ => handlers::<Lanes<F, Rounding<3>>>(),
    }
}

/// Types of which a register holds two.
pub trait Packed: Lane {
    /// The unsigned integer of the same width.
    type Bits: Integer;
    /// The register.
    type Register: Integer + Lane;
}

macro_rules! packed {
    ($($T:ty: $bits:ty, $register:ty;)*) => {$(
        impl Packed for $T {
            type Bits = $bits;
            type Register = $register;
        }
    )*};
}

packed! {
    u16: u16, u32;
    i16: u16, u32;
    F16: u16, u32;
    Bf16: u16, u32;
    f32: u32, u64;
}

/// The lower of two values in a register, or the upper one.
#[inline(always)]
pub fn half<A: Arith, T: Packed>(register: V<A, T::Register>, is_upper: bool) -> V<A, T> {
    let shift = if is_upper { T::Bits::BITS } else { 0 };
    (register >> shift).cast::<T::Bits>().reinterpret()
}

/// Two values in a register.
#[inline(always)]
pub fn pack<A: Arith, T: Packed>(low: V<A, T>, high: V<A, T>) -> V<A, T::Register> {
    let low = low.reinterpret::<T::Bits>().cast::<T::Register>();
    let high = high.reinterpret::<T::Bits>().cast::<T::Register>();
    low | high << T::Bits::BITS
}

/// Operands of which registers hold two.
pub trait PackedOperands: Operands {
    /// The registers.
    type Registers: LaneOperands;

    /// The lower or the upper operands.
    fn half<A: Arith>(registers: <Self::Registers as Operands>::Of<A>, is_upper: bool) -> Self::Of<A>;
}

macro_rules! packed_operands {
    ($($($T:ident $x:ident)*;)*) => {$(
        impl<$($T: Packed),*> PackedOperands for ($($T,)*) {
            type Registers = ($($T::Register,)*);

            #[inline(always)]
            fn half<A: Arith>(($($x,)*): <Self::Registers as Operands>::Of<A>, is_upper: bool) -> Self::Of<A> {
                ($(half::<A, $T>($x, is_upper),)*)
            }
        }
    )*};
}

packed_operands! {
    T x;
    T x U y;
    T x U y W z;
}

/// A function of both halves of registers.
#[derive(Clone, Copy)]
pub struct Halves<F>(pub F);

impl<F: Function<Operands: PackedOperands, Output: Packed>> Function for Halves<F> {
    type Operands = <F::Operands as PackedOperands>::Registers;
    type Output = <F::Output as Packed>::Register;

    #[inline(always)]
    fn call<A: Arith>(extra: u16, registers: <Self::Operands as Operands>::Of<A>) -> V<A, Self::Output> {
        let low = F::call(extra, F::Operands::half(registers, false));
        let high = F::call(extra, F::Operands::half(registers, true));
        pack(low, high)
    }
}

/// `dst = f(a, …)`, for each half of a register.
pub fn halves<F: Function<Operands: PackedOperands, Output: Packed>>(function: F) -> Handlers {
    lanes(Halves(function))
}

/// A closure on numbers that captures nothing, given the operation's `extra` first.
pub trait Closure<Arguments: LaneOperands>: Copy {
    /// The type of the result.
    type Output: Lane;

    /// The result.
    fn result(&self, extra: u16, arguments: Arguments) -> Self::Output;
}

macro_rules! closures {
    ($($($T:ident $x:ident)*;)*) => {$(
        impl<$($T: Lane,)* R: Lane, F: Fn(u16, $($T),*) -> R + Copy> Closure<($($T,)*)> for F {
            type Output = R;

            #[inline(always)]
            fn result(&self, extra: u16, ($($x,)*): ($($T,)*)) -> R {
                self(extra, $($x),*)
            }
        }
    )*};
}

closures! {
    T x;
    T x U y;
    T x U y W z;
    T x U y W z X u;
}

/// The body that applies a closure to lanes.
struct Called<T, F>(PhantomData<(T, F)>);

impl<T: LaneOperands, F: Closure<T>> Body for Called<T, F> {
    const OPCODE: Opcode = Opcode::of_lanes(of_lanes::<T>(None, F::Output::ELEMENT));

    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the caller promises that the operation's slots are good.
        unsafe {
            write_lanes::<X, <F::Output as Lane>::Raw>(warp, pc.dst, |lane| {
                let operands = T::read::<X::Numbers>(warp, pc, lane);
                conjure::<F>().result(pc.extra, T::plain(operands)).into_raw()
            });
        }
        pc.next()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_by_lane(warp: &mut Warp, pc: Pc) -> Pc {
        /// The result in a lane.
        ///
        /// # Safety
        /// As for [`LaneOperands::read`].
        unsafe fn result<T: LaneOperands, F: Closure<T>>(warp: &Warp, pc: Pc, lane: usize) -> <F::Output as Lane>::Raw {
            // SAFETY: as the caller promises.
            let operands = unsafe { T::read::<<Baseline as Processor>::Numbers>(warp, pc, lane) };
            conjure::<F>().result(pc.extra, T::plain(operands)).into_raw()
        }
        // SAFETY: as the caller promises; `result` is the operation's.
        unsafe { write_by_lane(warp, pc, result::<T, F>) }
    }
}

/// `dst = f(extra, a, …)`, for which native code calls the handler.
pub fn called<Arguments: LaneOperands, F: Closure<Arguments>>(_: F) -> Handlers {
    handlers::<Called<Arguments, F>>()
}

/// The body that writes a predicate.
struct Test<F>(PhantomData<F>);

/// All ones if bit 0 of `extra` asks for the opposite.
#[inline(always)]
fn negation(pc: Pc) -> u32 {
    0_u32.wrapping_sub(u32::from(pc.extra & 1))
}

/// `predicate dst = f(a, …)`; the opposite if bit 0 of `extra` is set.
pub fn test<F: Function<Operands: LaneOperands, Output = bool>>(_: F) -> Handlers {
    handlers::<Test<F>>()
}

impl<F: Function<Operands: LaneOperands, Output = bool>> Body for Test<F> {
    const OPCODE: Opcode = Opcode::Test { form: of_lanes::<F::Operands>(Some(form::<F>()), Element::I1) };

    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        let mut mask = 0;
        for chunk in 0..LANES / CHUNK {
            // SAFETY: the caller promises that the operation's slots are good, and the processor is `X`.
            unsafe {
                let operands = F::Operands::chunk(warp, pc, chunk);
                let lanes = fill::<X, _>(|lane| {
                    let truth = F::call(pc.extra, F::Operands::of_chunk::<X::Numbers>(&operands, lane));
                    <F::Operands as LaneOperands>::Truth::spread(X::Numbers::number(truth))
                });
                mask |= X::mask(&lanes) << (chunk * CHUNK);
            }
        }
        // SAFETY: the caller promises that the operation's predicates are good.
        unsafe { warp.set_predicate(pc.dst, mask ^ negation(pc)) };
        pc.next()
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_by_lane(warp: &mut Warp, pc: Pc) -> Pc {
        /// The truth in a lane.
        ///
        /// # Safety
        /// As for [`LaneOperands::read`].
        unsafe fn truth<F: Function<Operands: LaneOperands, Output = bool>>(warp: &Warp, pc: Pc, lane: usize) -> bool {
            type Numbers = <Baseline as Processor>::Numbers;
            // SAFETY: as the caller promises.
            let operands = unsafe { F::Operands::read::<Numbers>(warp, pc, lane) };
            Numbers::number(F::call(pc.extra, operands))
        }
        // SAFETY: as the caller promises; `truth` is the operation's.
        unsafe { test_by_lane(warp, pc, truth::<F>) }
    }
}

/// Writes an operation's predicate.
///
/// # Safety
/// `pc` is an operation of the warp's program with a predicate as its destination, and `truth` is for this operation.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
unsafe fn test_by_lane(warp: &mut Warp, pc: Pc, truth: unsafe fn(&Warp, Pc, usize) -> bool) -> Pc {
    // SAFETY: as the caller promises.
    unsafe {
        let mask = (0..LANES).fold(0, |mask, lane| mask | u32::from(truth(warp, pc, lane)) << lane);
        warp.set_predicate(pc.dst, mask ^ negation(pc));
    }
    pc.next()
}

/// `dst = predicate c ? a : b`, for lanes of raw bits.
pub fn select<R: Raw>() -> Handlers {
    handlers::<Select<R>>()
}

/// The body that selects lanes by a predicate.
struct Select<R>(PhantomData<R>);

impl<R: Raw> Body for Select<R> {
    const OPCODE: Opcode = Opcode::Select;

    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
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
        pc.next()
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
    handlers::<Carry<A, F>>()
}

/// The body that computes with the carry flag.
struct Carry<A, F>(PhantomData<(A, F)>);

impl<A: Lane, F: Fn(A, A, A, bool) -> (A, bool) + Copy> Body for Carry<A, F> {
    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        let f = conjure::<F>();
        let flag = if pc.extra & 1 != 0 { warp.carry } else { 0 };
        let mut mask = 0;
        let mut values = [A::Raw::ZERO; LANES];
        // SAFETY: the caller promises that the operation's slots are good, and the processor is `X`.
        unsafe {
            for chunk in 0..LANES / CHUNK {
                let a = read_chunk::<A>(warp, pc.a, chunk);
                let b = read_chunk::<A>(warp, pc.b, chunk);
                let c = read_chunk::<A>(warp, pc.c, chunk);
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
            write_lanes::<X, A::Raw>(warp, pc.dst, |lane| values[lane]);
        }
        if pc.extra & 2 != 0 {
            warp.set_carry(mask);
        }
        pc.next()
    }
}

/// `predicate dst = f(predicate a, predicate b)`, on whole masks.
pub fn masks<F: Function<Operands = (u32, u32), Output = u32>>(_: F) -> Handlers {
    unsafe fn run<F: Function<Operands = (u32, u32), Output = u32>>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: the caller promises that the operation's predicates are good.
        unsafe {
            let masks = (V(warp.predicate(pc.a)), V(warp.predicate(pc.b)));
            let V(mask) = F::call::<Native<true>>(pc.extra, masks);
            warp.set_predicate(pc.dst, mask);
        }
        pc.next()
    }
    Handlers::same(run::<F>).with_opcode(Opcode::Masks { form: form::<F>() })
}
