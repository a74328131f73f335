//! The operations of which scalar functions consist: a row for each, with its contract, its native meaning, its
//! spelling in LLVM, which bits of its result may be set, and how the result differs from lane to lane.
//!
//! The contract holds for both readings. Where a result is a NaN, its bits are unspecified, except where the contract
//! states them.

use std::hint::select_unpredictable;
use std::marker::PhantomData;

use crate::arith::Operands;
use crate::arith::emit::Operand;
use crate::arith::order::Order;
use crate::arith::possible::{self, Kind, Known, PossibleBits};
use crate::arith::scalar::{Bits, Float, Integer, Number, Rounding, Scalar};
use crate::arith::strides::{self, Stride, Strides};
use crate::base::ir::{Element, Value, Writer};

/// Writes an operation, given its operands.
pub type Write = fn(&mut Writer, &[Value]) -> Value;

/// An operation.
pub trait Primitive {
    /// The types of the operands.
    type Operands: Operands;
    /// The type of the result.
    type Result: Scalar;

    /// The operation's name, for tests.
    const NAME: &'static str;
    /// The type from which the operation only takes bits as another type.
    const REINTERPRETS: Option<Element> = None;

    /// The native meaning.
    fn native<const FUSED: bool>(operands: Self::Operands) -> Self::Result;

    /// The bits of the result that may be set.
    fn possible_bits(operands: &[Known]) -> u64 {
        let _ = operands;
        u64::MAX
    }

    /// The stride of the result, where the operands' lanes differ.
    fn stride(operands: &[Known]) -> Option<Stride> {
        strides::none(operands)
    }

    /// The order by which the operation compares its operands, if it is whether the first is less than the second.
    fn order() -> Option<Order> {
        None
    }

    /// The operand, or the constant, that the result is, where some operands are constants.
    fn simplify(operands: &[Operand]) -> Option<Operand> {
        let _ = operands;
        None
    }

    /// Writes the operation in LLVM's language.
    fn write(w: &mut Writer, x: &[Value]) -> Value;
}

/// A table of operations: `/// contract  Name<T: Bound>(a: T, b: T) -> R { native expression } |w, x| LLVM expression;`, with the
/// simplification in brackets after `where`, and the functions for the possible bits and the stride, and the order, behind the LLVM expression.
macro_rules! primitives {
    ($(
        $(#[$doc:meta])*
        $name:ident $(<$($T:ident: $bound:ident),*>)? ($($x:ident: $X:ty),*) -> $R:ty $(where [$simplify:expr])?
        { $native:expr } |$w:ident, $v:ident| $write:expr $(, $possible:expr $(, $stride:expr $(, $order:expr)?)?)?;
    )*) => {
        /// The names of the operations.
        #[cfg(test)]
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
        $(#[$doc])*
        pub struct $name$(<$($T),*>(PhantomData<($($T,)*)>))?;

        impl$(<$($T: $bound),*>)? Primitive for $name$(<$($T),*>)? {
            type Operands = ($($X,)*);
            type Result = $R;

            const NAME: &'static str = stringify!($name);

            #[inline(always)]
            fn native<const FUSED: bool>(($($x,)*): Self::Operands) -> $R {
                $native
            }

            $(fn simplify(operands: &[Operand]) -> Option<Operand> {
                let simplify: fn(&[Operand]) -> Option<Operand> = $simplify;
                simplify(operands)
            })?

            $(fn possible_bits(operands: &[Known]) -> u64 {
                let possible: PossibleBits = $possible;
                possible(operands)
            }

            $(fn stride(operands: &[Known]) -> Option<Stride> {
                let stride: Strides = $stride;
                stride(operands)
            }

            $(fn order() -> Option<Order> {
                $order
            })?)?)?

            fn write($w: &mut Writer, $v: &[Value]) -> Value {
                $write
            }
        }
        )*
    };
}

primitives! {
    /// The sum; of integers, modulo a power of two.
    Add<T: Number>(a: T, b: T) -> T where [sum::<T>]
        { a.add(b) } |w, x| w.binary(T::name(["add", "add", "fadd"]), &x[0], &x[1]), |x| of_integers::<T>(possible::sum, x),
        |x| of_integer_lanes::<T>(strides::sum, x);
    /// The difference; of integers, modulo a power of two.
    Sub<T: Number>(a: T, b: T) -> T where [difference::<T>]
        { a.sub(b) } |w, x| w.binary(T::name(["sub", "sub", "fsub"]), &x[0], &x[1]), possible::any,
        |x| of_integer_lanes::<T>(strides::difference, x);
    /// The product; of integers, modulo a power of two.
    Mul<T: Number>(a: T, b: T) -> T where [product::<T>]
        { a.mul(b) } |w, x| w.binary(T::name(["mul", "mul", "fmul"]), &x[0], &x[1]), |x| of_integers::<T>(possible::product, x),
        |x| of_integer_lanes::<T>(strides::product, x);
    /// The negative number; of a floating-point number, only the sign changes.
    Neg<T: Number>(a: T) -> T
        { a.neg() } |w, x| match T::name(["integer", "integer", "float"]) {
            "float" => w.negated(&x[0]),
            _ => w.sub(&Value::integer(T::ELEMENT, 0), &x[0]),
        }, possible::any, |x| of_integer_lanes::<T>(strides::negative, x);
    /// Whether two numbers are equal; false for NaN.
    Equal<T: Number>(a: T, b: T) -> bool
        { a == b } |w, x| w.compare(T::name(["icmp eq", "icmp eq", "fcmp oeq"]), &x[0], &x[1]);
    /// Whether the first number is smaller; false for NaN.
    Less<T: Number>(a: T, b: T) -> bool
        { a < b } |w, x| w.compare(T::name(["icmp ult", "icmp slt", "fcmp olt"]), &x[0], &x[1]), possible::any,
        strides::none, order::<T>();
    /// Whether the first number is not larger; false for NaN.
    LessOrEqual<T: Number>(a: T, b: T) -> bool
        { a <= b } |w, x| w.compare(T::name(["icmp ule", "icmp sle", "fcmp ole"]), &x[0], &x[1]);
    /// The bits that are set in both operands.
    And<T: Bits>(a: T, b: T) -> T where [conjunction::<T>]
        { a.and(b) } |w, x| w.and(&x[0], &x[1]), possible::intersection, strides::intersection;
    /// The bits that are set in any operand.
    Or<T: Bits>(a: T, b: T) -> T where [sum::<T>]
        { a.or(b) } |w, x| w.or(&x[0], &x[1]), possible::union, strides::union;
    /// The bits that are set in one operand only.
    Xor<T: Bits>(a: T, b: T) -> T where [sum::<T>]
        { a.xor(b) } |w, x| w.xor(&x[0], &x[1]), possible::union, strides::exclusive;
    /// The second operand if the first is true, otherwise the third.
    Select<T: Scalar>(condition: bool, a: T, b: T) -> T where [selection]
        { select_unpredictable(condition, a, b) } |w, x| w.select(&x[0], &x[1], &x[2]), possible::selection;
    /// 1 for true, 0 for false.
    OfBool<T: Integer>(condition: bool) -> T
        { T::from_word(condition.into()) } |w, x| w.extended(&x[0], T::ELEMENT), possible::same;

    /// A shift to the left by the amount modulo the width.
    Shl<T: Integer>(a: T, amount: u32) -> T where [difference::<T>]
        { a.shl(amount) } |w, x| shift(w, "shl", x), |x| possible::left(kind::<T>(), x),
        |x| strides::left(kind::<T>(), x);
    /// A shift to the right by the amount modulo the width, which fills with zeros, or with the sign if there is one.
    Shr<T: Integer>(a: T, amount: u32) -> T where [difference::<T>]
        { a.shr(amount) } |w, x| shift(w, T::name(["lshr", "ashr", ""]), x), |x| possible::right(kind::<T>(), x),
        |x| strides::right(kind::<T>(), x);
    /// The smaller number.
    Min<T: Integer>(a: T, b: T) -> T
        { a.min(b) } |w, x| w.intrinsic(T::name(["umin", "smin", ""]), &[&x[0], &x[1]]), |x| possible::smaller(kind::<T>(), x);
    /// The larger number.
    Max<T: Integer>(a: T, b: T) -> T
        { a.max(b) } |w, x| w.intrinsic(T::name(["umax", "smax", ""]), &[&x[0], &x[1]]);
    /// The upper half of the product of twice the width.
    High<T: Integer>(a: T, b: T) -> T
        { a.high(b) } |w, x| high(w, T::name(["zext", "sext", ""]), x);
    /// The quotient towards zero: all ones for a divisor of zero, and the smallest number for the smallest number and -1.
    Quotient<T: Integer>(a: T, b: T) -> T
        { a.quotient(b) } |w, x| quotient(w, T::IS_SIGNED, x);
    /// The sum, clamped to the range of the type.
    SaturatingAdd<T: Integer>(a: T, b: T) -> T
        { a.saturating_add(b) } |w, x| w.intrinsic(T::name(["uadd.sat", "sadd.sat", ""]), &[&x[0], &x[1]]);
    /// The difference, clamped to the range of the type.
    SaturatingSub<T: Integer>(a: T, b: T) -> T
        { a.saturating_sub(b) } |w, x| w.intrinsic(T::name(["usub.sat", "ssub.sat", ""]), &[&x[0], &x[1]]);
    /// The number of one bits.
    CountOnes<T: Integer>(a: T) -> T
        { a.count_ones() } |w, x| w.intrinsic("ctpop", &[&x[0]]), |x| possible::count(kind::<T>(), x);
    /// The number of zero bits above the highest one bit: the width for zero.
    LeadingZeros<T: Integer>(a: T) -> T
        { a.leading_zeros() } |w, x| w.intrinsic_with("ctlz", &[&x[0]], "i1 false"), |x| possible::count(kind::<T>(), x);
    /// The bits in reverse order.
    ReverseBits<T: Integer>(a: T) -> T
        { a.reverse_bits() } |w, x| w.intrinsic("bitreverse", &[&x[0]]);
    /// The upper half of two operands after a shift to the left by the amount modulo the width.
    FunnelLeft<T: Integer>(high: T, low: T, amount: T) -> T
        { high.funnel_left(low, amount) } |w, x| w.intrinsic("fshl", &[&x[0], &x[1], &x[2]]);
    /// The lower half of two operands after a shift to the right by the amount modulo the width.
    FunnelRight<T: Integer>(high: T, low: T, amount: T) -> T
        { high.funnel_right(low, amount) } |w, x| w.intrinsic("fshr", &[&x[0], &x[1], &x[2]]);
    /// The low bits of a number, or the number extended as its own type says.
    Cast<T: Integer, U: Integer>(a: T) -> U
        { U::from_word(a.extended()) } |w, x| if U::BITS > T::BITS {
            w.convert(T::name(["zext", "sext", ""]), &x[0], U::ELEMENT)
        } else {
            w.bits_as(&x[0], U::ELEMENT)
        }, |x| possible::cast(kind::<T>(), x), |x| strides::cast(kind::<T>(), U::BITS, x);

    /// The quotient of floating-point numbers.
    Div<T: Float>(a: T, b: T) -> T
        { a.div(b) } |w, x| w.binary("fdiv", &x[0], &x[1]);
    /// Whether a number is NaN.
    IsNan<T: Float>(a: T) -> bool
        { a.is_nan() } |w, x| w.compare("fcmp uno", &x[0], &x[0]);
    /// The number without its sign, which is also what becomes of a NaN.
    Abs<T: Float>(a: T) -> T
        { a.abs() } |w, x| w.intrinsic("fabs", &[&x[0]]);
    /// The first number with the sign of the second, which is also what becomes of NaNs.
    Copysign<T: Float>(a: T, sign: T) -> T
        { a.copysign(sign) } |w, x| w.intrinsic("copysign", &[&x[0], &x[1]]);
    /// The square root.
    Sqrt<T: Float>(a: T) -> T
        { a.sqrt() } |w, x| w.intrinsic("sqrt", &[&x[0]]);
    /// The product of two numbers plus a third, rounded once.
    Fma<T: Float>(a: T, b: T, c: T) -> T
        { a.fma::<FUSED>(b, c) } |w, x| w.intrinsic("fma", &[&x[0], &x[1], &x[2]]);
    /// The number rounded to an integer, ties to even.
    RoundEven<T: Float>(a: T) -> T
        { a.round(Rounding::Nearest) } |w, x| w.intrinsic("roundeven", &[&x[0]]);
    /// The number rounded to an integer towards zero.
    Truncate<T: Float>(a: T) -> T
        { a.round(Rounding::Zero) } |w, x| w.intrinsic("trunc", &[&x[0]]);
    /// The number rounded to an integer towards minus infinity.
    Floor<T: Float>(a: T) -> T
        { a.round(Rounding::Down) } |w, x| w.intrinsic("floor", &[&x[0]]);
    /// The number rounded to an integer towards plus infinity.
    Ceiling<T: Float>(a: T) -> T
        { a.round(Rounding::Up) } |w, x| w.intrinsic("ceil", &[&x[0]]);
    /// The number of 32 bits in 64 bits.
    Widen(a: f32) -> f64
        { a.into() } |w, x| w.convert("fpext", &x[0], Element::F64);
    /// The number of 64 bits rounded to 32, to nearest, ties to even.
    Narrow(a: f64) -> f32
        { a as f32 } |w, x| w.convert("fptrunc", &x[0], Element::F32);
    /// The nearest floating-point number to an integer, ties to even.
    OfInteger<F: Float, T: Integer>(a: T) -> F
        { F::of_integer(a) } |w, x| w.convert(T::name(["uitofp", "sitofp", ""]), &x[0], F::ELEMENT);
    /// A floating-point number as integer, towards zero, clamped to the range of the type; zero for NaN.
    ToInteger<F: Float, T: Integer>(a: F) -> T
        { a.to_integer() } |w, x| w.converting(T::name(["fptoui.sat", "fptosi.sat", ""]), &x[0], T::ELEMENT);
    /// The number; a NaN becomes `0x7fff_ffff`. As the last operation of a function, native code may do this later: before
    /// the bits of the NaN count.
    Canonical(a: f32) -> f32
        { canonical(a) } |w, x| w.canonical(&x[0]);
    /// The number; a NaN becomes [`INVALID_F64`]. Applied to a result of an operation of the processor, whose other NaNs
    /// the caller replaces afterwards: the native reading keeps the NaN of a processor that gives that one by itself.
    Invalid(a: f64) -> f64
        { if IS_INVALID_OF_PROCESSOR { a } else { select_unpredictable(a.is_nan(), f64::from_bits(INVALID_F64), a) } }
        |w, x| {
            let nan = w.compare("fcmp uno", &x[0], &x[0]);
            let bits = w.bits_as(&x[0], Element::I64);
            let bits = w.select(&nan, &Value::integer(Element::I64, INVALID_F64), &bits);
            w.bits_as(&bits, Element::F64)
        };
}

/// The same bits as another type of the same width.
pub struct Reinterpret<T, U>(PhantomData<(T, U)>);

impl<T: Scalar, U: Scalar> Primitive for Reinterpret<T, U> {
    type Operands = (T,);
    type Result = U;

    const NAME: &'static str = "Reinterpret";
    const REINTERPRETS: Option<Element> = Some(T::ELEMENT);

    #[inline(always)]
    fn native<const FUSED: bool>((x,): (T,)) -> U {
        U::from_word(x.to_word())
    }

    fn possible_bits(operands: &[Known]) -> u64 {
        possible::same(operands)
    }

    fn stride(operands: &[Known]) -> Option<Stride> {
        strides::same(operands)
    }

    fn write(w: &mut Writer, x: &[Value]) -> Value {
        w.bits_as(&x[0], U::ELEMENT)
    }
}

/// The NaN of an operation in `f64` on numbers that has no result, as `0 / 0`.
pub const INVALID_F64: u64 = 0xfff8 << 48;

/// Whether the processor's result is [`INVALID_F64`]; on AArch64 the NaN has the other sign.
pub const IS_INVALID_OF_PROCESSOR: bool = cfg!(target_arch = "x86_64");

/// `x`, or the canonical NaN.
///
/// The comparison is one of integers because the compiler takes one NaN for as good as another: it removes a selection
/// between a NaN and the result of a square root that is NaN.
#[inline(always)]
fn canonical(x: f32) -> f32 {
    let nan = x.to_bits() & 0x7fff_ffff > 0x7f80_0000;
    f32::from_bits(select_unpredictable(nan, crate::base::ir::NAN_F32, x.to_bits()))
}

/// Whether zero is neutral for sums of a type: a floating-point sum with zero may have another sign of zero.
const fn is_exact<T: Scalar>() -> bool {
    !matches!(T::ELEMENT, Element::F32 | Element::F64)
}

const fn kind<T: Integer>() -> Kind {
    Kind { bits: T::BITS, is_signed: T::IS_SIGNED }
}

/// The possible bits of a result of integers; nothing is known of floating-point numbers.
fn of_integers<T: Number>(possible: PossibleBits, x: &[Known]) -> u64 {
    if is_exact::<T>() { possible(x) } else { u64::MAX }
}

/// The order of numbers of a type.
fn order<T: Number>() -> Option<Order> {
    match T::name(["unsigned", "signed", "float"]) {
        "unsigned" => Some(Order::Unsigned),
        "signed" => Some(Order::Signed),
        _ => None,
    }
}

/// The stride of a result of integers.
fn of_integer_lanes<T: Number>(stride: Strides, x: &[Known]) -> Option<Stride> {
    if is_exact::<T>() { stride(x) } else { None }
}

fn is_constant(operand: Operand, wanted: u64) -> bool {
    matches!(operand, Operand::Constant(_, bits) if bits == wanted)
}

/// `x + 0`, `0 + x`
fn sum<T: Scalar>(x: &[Operand]) -> Option<Operand> {
    difference::<T>(x).or_else(|| (is_exact::<T>() && is_constant(x[0], 0)).then_some(x[1]))
}

/// `x - 0`
fn difference<T: Scalar>(x: &[Operand]) -> Option<Operand> {
    (is_exact::<T>() && is_constant(x[1], 0)).then_some(x[0])
}

/// `x * 0`, `x * 1`, in any order.
fn product<T: Scalar>(x: &[Operand]) -> Option<Operand> {
    if is_exact::<T>() { with_neutral(x, 1) } else { None }
}

/// `x & 0`, `x & !0`, in any order.
fn conjunction<T: Scalar>(x: &[Operand]) -> Option<Operand> {
    with_neutral(x, u64::MAX >> (64 - T::ELEMENT.bits()))
}

fn with_neutral(x: &[Operand], neutral: u64) -> Option<Operand> {
    [[x[0], x[1]], [x[1], x[0]]].into_iter().find_map(|[x, constant]| {
        if is_constant(constant, 0) {
            return Some(constant);
        }
        is_constant(constant, neutral).then_some(x)
    })
}

/// A selection by a constant, or between equal operands.
fn selection(x: &[Operand]) -> Option<Operand> {
    match x[0] {
        Operand::Constant(_, condition) => Some(if condition != 0 { x[1] } else { x[2] }),
        Operand::Result(_) => (x[1] == x[2]).then_some(x[1]),
    }
}

/// A shift by an amount of 32 bits, of which only the bits below the width count.
fn shift(w: &mut Writer, shift: &str, x: &[Value]) -> Value {
    let element = x[0].element();
    let bits = u64::from(element.bits());
    let amount = match x[1].number() {
        Some(amount) => Value::integer(element, amount % bits),
        None => {
            let amount = w.and_with(&x[1], bits - 1);
            if bits > 32 { w.convert("zext", &amount, element) } else { w.bits_as(&amount, element) }
        }
    };
    w.binary(shift, &x[0], &amount)
}
/// The upper half of a product.
fn high(w: &mut Writer, extension: &str, x: &[Value]) -> Value {
    let element = x[0].element();
    let wide = match element {
        Element::I16 => Element::I32,
        Element::I32 => Element::I64,
        // There is no wider type of number here: four products of halves.
        _ => return high_of_64(w, extension, x),
    };
    let [a, b] = [&x[0], &x[1]].map(|x| w.convert(extension, x, wide));
    let product = w.binary("mul", &a, &b);
    let high = w.binary_with("lshr", &product, element.bits().into());
    w.convert("trunc", &high, element)
}

fn high_of_64(w: &mut Writer, extension: &str, x: &[Value]) -> Value {
    let (a, b) = (&x[0], &x[1]);
    let [a_low, b_low] = [a, b].map(|x| w.binary_with("and", x, 0xffff_ffff));
    let [a_high, b_high] = [a, b].map(|x| w.binary_with("lshr", x, 32));
    let low = w.binary("mul", &a_low, &b_low);
    let one = w.binary("mul", &a_high, &b_low);
    let other = w.binary("mul", &a_low, &b_high);
    let carry = w.binary_with("lshr", &low, 32);
    let middle = w.binary("add", &one, &carry);
    let middle_low = w.binary_with("and", &middle, 0xffff_ffff);
    let middle_high = w.binary_with("lshr", &middle, 32);
    let other = w.binary("add", &other, &middle_low);
    let other = w.binary_with("lshr", &other, 32);
    let high = w.binary("mul", &a_high, &b_high);
    let high = w.binary("add", &high, &middle_high);
    let mut high = w.binary("add", &high, &other);
    if extension == "sext" {
        for (x, y) in [(a, b), (b, a)] {
            let sign = w.binary_with("ashr", x, 63);
            let less = w.binary("and", &sign, y);
            high = w.binary("sub", &high, &less);
        }
    }
    high
}

/// A quotient of integers towards zero: all ones for a divisor of zero, and as it wraps for the smallest number and -1. Numbers of
/// 32 bits are divided in `f64`, which vectors can do.
fn quotient(w: &mut Writer, signed: bool, x: &[Value]) -> Value {
    let (a, b, element) = (&x[0], &x[1], x[0].element());
    let zero = w.compare_with("icmp eq", b, 0);
    let (one, ones) = (Value::integer(element, 1), Value::integer(element, u64::MAX));
    let mut strange = zero.clone();
    let mut minus_one = None;
    if signed {
        // It is no quotient that a division can be trusted with.
        let found = w.compare("icmp eq", b, &ones);
        strange = w.or(&zero, &found);
        minus_one = Some(found);
    }
    let divisor = w.select(&strange, &one, b);
    let is_vector = a.is_vector() || b.is_vector();
    let quotient = if is_vector && !b.is_constant() && element.bits() <= 32 {
        let (to, from) = if signed { ("sitofp", "fptosi") } else { ("uitofp", "fptoui") };
        let [a, b] = [a, &divisor].map(|x| w.convert(to, x, Element::F64));
        let quotient = w.binary("fdiv", &a, &b);
        w.convert(from, &quotient, element)
    } else {
        w.binary(if signed { "sdiv" } else { "udiv" }, a, &divisor)
    };
    let quotient = match minus_one {
        Some(minus_one) => {
            let none = Value::integer(element, 0);
            let negated = w.sub(&none, a);
            w.select(&minus_one, &negated, &quotient)
        }
        None => quotient,
    };
    w.select(&zero, &ones, &quotient)
}
