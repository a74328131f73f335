//! The read-modify-write operations on memory that `atom` and `red` share.
//!
//! The lanes of one operation take turns in their order. Shared memory belongs to a block, which stays on one thread, so
//! that nothing there needs an atomic instruction of the processor.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::arith::float::{flush, is_nan_by_bits, propagate};
use crate::arith::{Scalar, V, select};
use crate::base::lanes::lanes_of;
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::check::order::Order;
use crate::exec::lane::{Bf16, F16, Lane, Pair};
use crate::exec::memory::{AddressSpace, Addresses, Flat, Shared, Space, scattered};
use crate::exec::shape;
use crate::exec::shape::{conjure, function};
use crate::isa::memory;
use crate::lower::address::Address;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::op::opcode::{AtomicForm, Opcode};
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::{ChoiceAccess, ChoiceKind, Class};
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;
use crate::mem::tensor::Reduction;

/// An element with a compare-and-exchange.
trait Exchange: Element {
    /// Writes `new` if the memory holds `old`; otherwise returns the value in memory.
    ///
    /// # Safety
    /// The address is that of a live, aligned element.
    unsafe fn exchange(address: u64, old: Self::Raw, new: Self::Raw) -> Result<(), Self::Raw>;
}

macro_rules! exchange {
    ($($ty:ty, $raw:ty, $atomic:ty;)*) => {$(
        impl Exchange for $ty {
            #[inline(always)]
            unsafe fn exchange(address: u64, old: $raw, new: $raw) -> Result<(), $raw> {
                // SAFETY: as the caller promises.
                let place = unsafe { <$atomic>::from_ptr(address as *mut $ty) };
                place
                    .compare_exchange(old as $ty, new as $ty, Ordering::SeqCst, Ordering::SeqCst)
                    .map(|_| ())
                    .map_err(|found| found as $raw)
            }
        }
    )*};
}

exchange! {
    u16, u32, AtomicU16;
    u32, u32, AtomicU32;
    u64, u64, AtomicU64;
}

/// Held while 128 bits are changed at once.
static WIDE: Mutex<()> = Mutex::new(());

impl Exchange for u128 {
    unsafe fn exchange(address: u64, old: u128, new: u128) -> Result<(), u128> {
        let _turn = WIDE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as the caller promises.
        let found = unsafe { u128::read(address) };
        if found != old {
            return Err(found);
        }
        // SAFETY: as above.
        unsafe { u128::write(address, new) };
        Ok(())
    }
}

/// The access check, out of line: each operation on each type would have its own copy.
///
/// # Safety
/// As for [`scattered`].
#[inline(never)]
unsafe fn checked<D: AddressSpace>(warp: &mut Warp, pc: Pc, bytes: u64, out: &mut Addresses) -> Result<(), Pc> {
    // SAFETY: as the caller promises.
    unsafe { scattered::<D>(warp, pc, bytes, AccessKind::Atomic, out) }
}

/// `dst = *a; *a = f(*a, b, c)`
unsafe fn update<E: Exchange, D: AddressSpace, F: Fn(E::Raw, E::Raw, E::Raw) -> E::Raw + Copy>(
    warp: &mut Warp,
    pc: Pc,
) -> Pc
where
    E::Raw: PartialEq,
{
    let f = conjure::<F>();
    let mut addresses = Addresses::new();
    // SAFETY: the operation was made by `lower`.
    if let Err(stop) = unsafe { checked::<D>(warp, pc, E::BYTES, &mut addresses) } {
        return stop;
    }
    let keeps = pc.extra & NO_RESULT == 0;
    let (dst, b, c) = (warp.lanes::<E::Raw>(pc.dst), warp.lanes::<E::Raw>(pc.b), warp.lanes::<E::Raw>(pc.c));
    for lane in lanes_of(warp.active) {
        // SAFETY: the access check has found that the addresses are those of live, aligned elements; the slots have 32 lanes.
        unsafe {
            let address = addresses.get(lane);
            let (b, c) = (*b.add(lane), *c.add(lane));
            let mut old = E::read(address);
            if D::IS_SHARED {
                E::write(address, f(old, b, c));
            } else {
                while let Err(found) = E::exchange(address, old, f(old, b, c)) {
                    old = found;
                }
            }
            if keeps {
                *dst.add(lane) = old;
            }
        }
    }
    if keeps {
        warp.fuel.poll();
    }
    pc.next()
}

/// Set in an operation's `extra` if the old value is not used.
const NO_RESULT: u16 = 0x100;

/// Makes handlers of a function of the old value and two operands.
trait Make {
    type Made;

    /// `form` writes the native code, if the operation has some.
    fn make<E: Exchange, F: Fn(E::Raw, E::Raw, E::Raw) -> E::Raw + Copy>(
        self,
        f: F,
        form: Option<AtomicForm>,
    ) -> Self::Made
    where
        E::Raw: PartialEq;
}

/// Handlers of an operation on a state space.
struct Updates {
    space: Space,
    /// Whether the old value is used.
    keeps: bool,
}

impl Make for Updates {
    type Made = Handlers;

    fn make<E: Exchange, F: Fn(E::Raw, E::Raw, E::Raw) -> E::Raw + Copy>(
        self,
        _: F,
        form: Option<AtomicForm>,
    ) -> Handlers
    where
        E::Raw: PartialEq,
    {
        let is_shared = self.space == Space::Shared;
        let handlers =
            if is_shared { Handlers::same(update::<E, Shared, F>) } else { Handlers::same(update::<E, Flat, F>) };
        match form {
            Some(form) => handlers.with_opcode(Opcode::Atomic { shared: is_shared, keeps: self.keeps, form }),
            None => handlers,
        }
    }
}

/// Functions that combine an element with another element in memory.
struct Reductions;

impl Make for Reductions {
    type Made = Reduction;

    fn make<E: Exchange, F: Fn(E::Raw, E::Raw, E::Raw) -> E::Raw + Copy>(self, _: F, _: Option<AtomicForm>) -> Reduction
    where
        E::Raw: PartialEq,
    {
        reduce::<E, F>
    }
}

unsafe fn reduce<E: Exchange, F: Fn(E::Raw, E::Raw, E::Raw) -> E::Raw + Copy>(to: u64, from: u64)
where
    E::Raw: PartialEq,
{
    let f = conjure::<F>();
    // SAFETY: the caller promises that both are addresses of live, aligned elements.
    unsafe {
        let (mut old, b) = (E::read(to), E::read(from));
        while let Err(found) = E::exchange(to, old, f(old, b, b)) {
            old = found;
        }
    }
}

/// The function of a bulk reduction for a name and a type, on an element of a state space.
pub(crate) fn reduction(name: &str, ty: ScalarType, space: Space) -> Option<Reduction> {
    use ScalarType::{B32, B64, S32, U32, U64};
    // Of signed numbers of 64 bits there are extrema only.
    let ty = match (name, ty) {
        (".and" | ".or" | ".xor", U32 | S32) => B32,
        (".and" | ".or" | ".xor", U64) => B64,
        _ => ty,
    };
    find(name, ty, space, Reductions)
}

/// The operation for a name and a type.
fn find<M: Make>(name: &str, ty: ScalarType, space: Space, make: M) -> Option<M::Made> {
    use ScalarType::{
        B16, B32, B64, B128, Bf16 as TypeBf16, Bf16x2, F16 as TypeF16, F16x2, F32, F64, S32, S64, U32, U64,
    };
    // An operation that native code leaves to the handler.
    macro_rules! called {
        ($ty:ty, $f:expr) => {
            make.make::<$ty, _>($f, None)
        };
    }
    // An operation in any arithmetic: with the names of LLVM's atomic instruction, and of its reduction of lanes with the
    // neutral element, where there are such.
    macro_rules! on {
        ($ty:ty, |$old:ident, $b:ident| $result:expr $(, $instruction:literal $(, $reduction:literal $neutral:expr)?)?) => {
            on!($ty, |$old, $b, _c| $result $(, $instruction $(, $reduction $neutral)?)?)
        };
        ($ty:ty, |$old:ident, $b:ident, $c:ident| $result:expr
            $(, $instruction:literal $(, $reduction:literal $neutral:expr)?)?) => {{
            let function = function!(|$old: $ty, $b: $ty, $c: $ty| -> $ty { $result });
            let instruction: Option<&'static str> = [$($instruction)?].first().copied();
            let reduction: Option<(&'static str, u64)> = [$($(($reduction, $neutral))?)?].first().copied();
            let form = AtomicForm { element: <$ty>::ELEMENT, instruction, reduction, update: shape::form_of(function) };
            make.make::<$ty, _>(move |old, b, c| shape::apply(function, (old, b, c)), Some(form))
        }};
    }
    Some(match (name, ty) {
        (".and", B32) => on!(u32, |old, b| old & b, "and", "and" u64::MAX),
        (".and", B64) => on!(u64, |old, b| old & b, "and", "and" u64::MAX),
        (".or", B32) => on!(u32, |old, b| old | b, "or", "or" 0),
        (".or", B64) => on!(u64, |old, b| old | b, "or", "or" 0),
        (".xor", B32) => on!(u32, |old, b| old ^ b, "xor", "xor" 0),
        (".xor", B64) => on!(u64, |old, b| old ^ b, "xor", "xor" 0),
        (".exch", B32) => on!(u32, |_old, b| b, "xchg"),
        (".exch", B64) => on!(u64, |_old, b| b, "xchg"),
        (".exch", B128) => called!(u128, |_, b, _| b),
        (".cas", B16) => called!(u16, |old, b, c| if old == b { c } else { old }),
        (".cas", B32) => on!(u32, |old, b, c| select(old.eq(b), c, old)),
        (".cas", B64) => on!(u64, |old, b, c| select(old.eq(b), c, old)),
        (".cas", B128) => called!(u128, |old, b, c| if old == b { c } else { old }),
        (".add", U32 | S32) => on!(u32, |old, b| old + b, "add", "add" 0),
        (".add", U64) => on!(u64, |old, b| old + b, "add", "add" 0),
        (".inc", U32) => on!(u32, |old, b| select(old.ge(b), 0, old + 1)),
        // Zero minus one wraps to the largest value.
        (".dec", U32) => on!(u32, |old, b| select((old - 1).ge(b), b, old - 1)),
        (".min", U32) => on!(u32, |old, b| old.min(b), "umin", "umin" u64::MAX),
        (".min", S32) => on!(u32, |old, b| old.reinterpret::<i32>().min(b.reinterpret::<i32>()).reinterpret(), "min"),
        (".min", U64) => on!(u64, |old, b| old.min(b), "umin", "umin" u64::MAX),
        (".min", S64) => on!(u64, |old, b| old.reinterpret::<i64>().min(b.reinterpret::<i64>()).reinterpret(), "min"),
        (".max", U32) => on!(u32, |old, b| old.max(b), "umax", "umax" 0),
        (".max", S32) => on!(u32, |old, b| old.reinterpret::<i32>().max(b.reinterpret::<i32>()).reinterpret(), "max"),
        (".max", U64) => on!(u64, |old, b| old.max(b), "umax", "umax" 0),
        (".max", S64) => on!(u64, |old, b| old.reinterpret::<i64>().max(b.reinterpret::<i64>()).reinterpret(), "max"),
        // On shared memory subnormals survive, elsewhere they do not (manual, section 9.7.13.5).
        (".add", F32) if space == Space::Shared => {
            on!(u32, |old, b| (V::<_, f32>::from_bits(old) + V::from_bits(b)).canonical().to_bits())
        }
        (".add", F32) => on!(u32, |old, b| {
            let sum = flush(V::from_bits(old)) + flush(V::from_bits(b));
            flush(sum.canonical()).to_bits()
        }),
        (".add", F64) if space == Space::Shared => on!(u64, |old, b| {
            let (old, b) = (V::from_bits(old), V::from_bits(b));
            propagate(old + b, b, old).to_bits()
        }),
        // Found on an H200: unlike an addition in a register, this one does not make NaN quiet.
        (".add", F64) => on!(u64, |old, b| {
            let sum = (V::<_, f64>::from_bits(old) + V::from_bits(b)).to_bits();
            let sum = select(is_nan_by_bits::<_, f64>(old), old, sum);
            select(is_nan_by_bits::<_, f64>(b), b, sum)
        }),
        (".add", TypeF16) => called!(u16, |old, b, _| half_sum::<F16>(old, b)),
        (".min", TypeF16) => called!(u16, |old, b, _| half_extremum::<F16, false>(old, b)),
        (".max", TypeF16) => called!(u16, |old, b, _| half_extremum::<F16, true>(old, b)),
        (".add", TypeBf16) => called!(u16, |old, b, _| half_sum::<Bf16>(old, b)),
        (".min", TypeBf16) => called!(u16, |old, b, _| half_extremum::<Bf16, false>(old, b)),
        (".max", TypeBf16) => called!(u16, |old, b, _| half_extremum::<Bf16, true>(old, b)),
        (".add", F16x2) => called!(u32, |old, b, _| both(old, b, half_sum::<F16>)),
        (".min", F16x2) => called!(u32, |old, b, _| both(old, b, half_extremum::<F16, false>)),
        (".max", F16x2) => called!(u32, |old, b, _| both(old, b, half_extremum::<F16, true>)),
        (".add", Bf16x2) => called!(u32, |old, b, _| both(old, b, half_sum::<Bf16>)),
        (".min", Bf16x2) => called!(u32, |old, b, _| both(old, b, half_extremum::<Bf16, false>)),
        (".max", Bf16x2) => called!(u32, |old, b, _| both(old, b, half_extremum::<Bf16, true>)),
        _ => return None,
    })
}

/// A 16-bit floating-point number.
trait Half {
    fn widen(bits: u32) -> f32;
    fn narrow(value: f32) -> u32;
}

macro_rules! halves {
    ($($T:ident)*) => {$(
        impl Half for $T {
            fn widen(bits: u32) -> f32 {
                $T(bits as u16).to_f32()
            }

            fn narrow(value: f32) -> u32 {
                $T::nearest(value).0.into()
            }
        }
    )*};
}

halves!(F16 Bf16);

fn half_sum<T: Half>(a: u32, b: u32) -> u32 {
    T::narrow(T::widen(a) + T::widen(b))
}

fn half_extremum<T: Half, const MAX: bool>(a: u32, b: u32) -> u32 {
    let (x, y) = (T::widen(a), T::widen(b));
    let first = match (x.is_nan(), y.is_nan()) {
        (true, true) => return T::narrow(f32::NAN),
        (true, false) => false,
        (false, true) => true,
        (false, false) => (x.total_cmp(&y) == std::cmp::Ordering::Greater) == MAX,
    };
    if first { a } else { b }
}

fn both(old: u32, b: u32, f: fn(u32, u32) -> u32) -> u32 {
    let (old, b) = (Pair::<u16>::from_raw(old), Pair::<u16>::from_raw(b));
    old.zip(b, |old, b| f(u32::from(old), u32::from(b)) as u16).into_raw()
}

/// The operation that the modifiers name.
fn operation<'s>(m: &Matched<'s>) -> &'s str {
    match m.get("op") {
        Some(name) => name,
        None if m.has(".add") => ".add",
        None => ".cas",
    }
}

/// The handlers of an operation, which uses the old value or not.
fn updates(name: &str, ty: ScalarType, space: Space, keeps: bool) -> Result<Handlers, LowerError> {
    find(name, ty, space, Updates { space, keeps })
        .ok_or_else(|| LowerError::new(format!("the operation `{name}` does not exist for values of type {ty}")))
}

/// Lowers the forms with vectors, which are as many operations on one element each.
fn lower_vector(l: &mut Lowering<'_>, m: &Matched<'_>, has_result: bool) -> Result<(), LowerError> {
    let ty = match (m.get("pair"), m.get("half")) {
        (Some(_), _) => m.ty("pair")?,
        (_, Some(_)) => m.ty("half")?,
        (None, None) => ScalarType::F32,
    };
    let count = match m.get("vec").or(m.get("vec8")) {
        Some(".v2") => 2,
        Some(".v4") => 4,
        _ => 8,
    };
    let space = if m.has(".global") { Space::Global } else { Space::Generic };
    let name = operation(m);
    let handlers = updates(name, ty, space, has_result)?;
    let first = usize::from(has_result);
    let address = memory::address(l, first, space)?;
    let mut sources = Vec::with_capacity(count);
    for source in memory::elements(l, first + 1, count)? {
        sources.push(l.source_operand(source, ty, false)?);
    }
    let order = Order::of_atomic(m).bits();
    choose(l, &address, space, (name, ty), has_result, count as u8);
    let mut results = Vec::new();
    for (position, b) in sources.into_iter().enumerate() {
        let offset = address.offset.wrapping_add(position as i64 * i64::from(ty.bytes()));
        // A result must not replace a source of a later element.
        let dst = if has_result { l.scratch(ty) } else { VReg::None };
        results.push(dst);
        l.emit(VirtualOp {
            dst,
            a: address.base,
            b,
            c: b,
            extra: space as u16 | order | if has_result { 0 } else { NO_RESULT },
            imm: offset.cast_unsigned(),
            ..VirtualOp::new(handlers)
        });
    }
    if has_result {
        for (target, result) in memory::elements(l, 0, count)?.into_iter().zip(results) {
            let target = l.destination_operand(target, ty, false)?;
            l.emit(VirtualOp::unary(memory::copy(Class::of(ty)), target, result));
        }
    }
    Ok(())
}

/// Places a point of choice before an operation on `count` elements.
fn choose(
    l: &mut Lowering<'_>,
    address: &Address,
    space: Space,
    (name, ty): (&str, ScalarType),
    has_result: bool,
    count: u8,
) {
    // Sums of numbers that are rounded depend on their order.
    let commutes = [".add", ".and", ".or", ".xor", ".min", ".max"].iter().position(|known| *known == name);
    let access = match commutes {
        Some(kind) if !has_result && !ty.is_float() => ChoiceAccess::Combines(kind as u8),
        _ => ChoiceAccess::Writes,
    };
    let bytes = ty.bytes() as u8 * count;
    l.choose(ChoiceKind::Memory { bytes, access }, (address.base, VReg::None), (space, address.offset));
}

/// Lowers `atom` (whose operand 0 is the destination) and `red` (which has none).
pub(crate) fn lower(l: &mut Lowering<'_>, m: &Matched<'_>, has_result: bool) -> Result<(), LowerError> {
    if m.get("vec").is_some() || m.get("vec8").is_some() {
        return lower_vector(l, m, has_result);
    }
    let ty = m.ty("type")?;
    let name = operation(m);
    let space = memory::space(l, m, usize::from(has_result));
    let handlers = updates(name, ty, space, has_result)?;
    let first = usize::from(has_result);
    let address = memory::address(l, first, space)?;
    let b = l.source(first + 1, ty)?;
    let c = if name == ".cas" { l.source(first + 2, ty)? } else { b };
    let dst = if has_result { l.destination(0, ty)? } else { VReg::None };
    choose(l, &address, space, (name, ty), has_result, 1);
    let extra = space as u16 | Order::of_atomic(m).bits() | if has_result { 0 } else { NO_RESULT };
    l.emit(VirtualOp {
        dst,
        a: address.base,
        b,
        c,
        extra,
        imm: address.offset.cast_unsigned(),
        ..VirtualOp::new(handlers)
    });
    Ok(())
}
