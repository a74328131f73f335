//! The meaning of scalar operations, written once and read twice.
//!
//! A scalar function is generic over an [`Arith`]: `fn twice<A: Arith>(x: V<A, u32>) -> V<A, u32> { x + x }`. The
//! interpreter inlines its [`Native`] instance, on Rust's own numbers, into a loop over the lanes of a warp. Native code
//! comes from its [`Emit`] instance, whose values are handles into a [`Builder`], which folds constants, drops unused
//! operations, and writes the rest as LLVM's assembly language.
//!
//! Functions consist of the operations in [`primitive`]. There, the contract, the native meaning and the LLVM spelling of
//! each operation stand in one row, and a test compares both readings of all rows. Integers wrap. This layer does not
//! know PTX.

pub mod bits;
mod emit;
pub mod float;
mod form;
pub mod half;
pub mod math;
mod order;
mod possible;
pub mod primitive;
mod scalar;
pub mod soft;
mod strides;
#[cfg(test)]
mod tests;

use std::ops;

pub use self::emit::{Builder, Emit, Operand};
pub use self::form::{Form, LaneForm};
pub use self::order::Truths;
pub(crate) use self::possible::{all, up_to};
use self::primitive as p;
use self::primitive::Primitive;
pub use self::scalar::{Bf16, Bits, F16, Float, Integer, Number, Rounding, Scalar};
pub use self::strides::{Steps, Stride};

/// An instance of arithmetic: how values are represented, and how operations are applied to them.
pub trait Arith: Copy {
    /// A value whose type is `T` in PTX.
    type Of<T: Scalar>: Copy;

    /// A number that is known when the function is written.
    fn constant<T: Scalar>(x: T) -> Self::Of<T>;

    /// Applies an operation.
    fn apply<P: Primitive>(operands: <P::Operands as Operands>::Of<Self>) -> V<Self, P::Result>;
}

/// A value of type `T` in an instance of arithmetic.
pub struct V<A: Arith, T: Scalar>(pub A::Of<T>);

impl<A: Arith, T: Scalar> Clone for V<A, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: Arith, T: Scalar> Copy for V<A, T> {}

/// A truth value.
pub type Bool<A> = V<A, bool>;
/// An unsigned number of 32 bits.
pub type U32<A> = V<A, u32>;
/// An unsigned number of 64 bits.
pub type U64<A> = V<A, u64>;
/// A floating-point number of 32 bits.
pub type F32<A> = V<A, f32>;
/// A floating-point number of 64 bits.
pub type F64<A> = V<A, f64>;

/// The arithmetic of Rust's own numbers. `FUSED` states whether the processor has an instruction for
/// [`p::Fma`]; the results are the same.
#[derive(Clone, Copy)]
pub struct Native<const FUSED: bool>;

impl<const FUSED: bool> Arith for Native<FUSED> {
    type Of<T: Scalar> = T;

    #[inline(always)]
    fn constant<T: Scalar>(x: T) -> T {
        x
    }

    #[inline(always)]
    fn apply<P: Primitive>(operands: <P::Operands as Operands>::Of<Self>) -> V<Self, P::Result> {
        V(P::native::<FUSED>(P::Operands::plain(operands)))
    }
}

/// An instance of arithmetic whose values are Rust's numbers.
pub trait Plain: Arith {
    /// A number as a value.
    fn of<T: Scalar>(x: T) -> V<Self, T>;

    /// The number.
    fn number<T: Scalar>(x: V<Self, T>) -> T;
}

impl<const FUSED: bool> Plain for Native<FUSED> {
    #[inline(always)]
    fn of<T: Scalar>(x: T) -> V<Self, T> {
        V(x)
    }

    #[inline(always)]
    fn number<T: Scalar>(x: V<Self, T>) -> T {
        x.0
    }
}

/// A value in native arithmetic, for callers that have numbers of their own.
#[inline(always)]
pub fn native<T: Scalar>(x: T) -> V<Native<true>, T> {
    V(x)
}

/// The operands of a function: a tuple of types.
pub trait Operands: Copy {
    /// The operands in an instance of arithmetic.
    type Of<A: Arith>: Copy;

    /// The number of operands.
    const COUNT: usize;

    /// The numbers of native operands.
    fn plain<N: Plain>(operands: Self::Of<N>) -> Self;

    /// Numbers as operands.
    fn values(self) -> Self::Of<Native<true>>;

    /// The numbers, if all operands are constants; otherwise the operands as a builder stores them, and the builder.
    fn known<'b>(operands: Self::Of<Emit<'b>>) -> Result<Self, emit::Given<'b>>;

    /// The operands of a function that is emitted, one for each value.
    fn inputs<'b>(builder: &'b Builder, values: &[crate::base::ir::Value]) -> Self::Of<Emit<'b>>;
}

macro_rules! operands {
    ($($count:literal: $($T:ident $x:ident)*;)*) => {$(
        impl<$($T: Scalar),*> Operands for ($($T,)*) {
            type Of<A: Arith> = ($(V<A, $T>,)*);

            const COUNT: usize = $count;

            #[inline(always)]
            fn plain<N: Plain>(($($x,)*): Self::Of<N>) -> Self {
                ($(N::number($x),)*)
            }

            #[inline(always)]
            fn values(self) -> Self::Of<Native<true>> {
                let ($($x,)*) = self;
                ($(V($x),)*)
            }

            fn known<'b>(($($x,)*): Self::Of<Emit<'b>>) -> Result<Self, emit::Given<'b>> {
                let mut given = emit::Given::new();
                $(let $x = given.take($x.0);)*
                if given.is_known() { Ok(($($x,)*)) } else { Err(given) }
            }

            fn inputs<'b>(builder: &'b Builder, values: &[crate::base::ir::Value]) -> Self::Of<Emit<'b>> {
                let mut values = values.iter();
                $(let $x = V(builder.input(values.next().expect("a value for each operand")));)*
                ($($x,)*)
            }
        }
    )*};
}

operands! {
    1: T x;
    2: T x U y;
    3: T x U y W z;
    4: T x U y W z X u;
}

impl<A: Arith, T: Scalar> From<T> for V<A, T> {
    #[inline(always)]
    fn from(x: T) -> Self {
        V(A::constant(x))
    }
}

/// `condition ? a : b`
#[inline(always)]
pub fn select<A: Arith, T: Scalar>(
    condition: impl Into<Bool<A>>,
    a: impl Into<V<A, T>>,
    b: impl Into<V<A, T>>,
) -> V<A, T> {
    A::apply::<p::Select<T>>((condition.into(), a.into(), b.into()))
}

macro_rules! operators {
    ($($trait:ident $method:ident, $bound:ident, $primitive:ident;)*) => {$(
        impl<A: Arith, T: $bound> ops::$trait for V<A, T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                A::apply::<p::$primitive<T>>((self, other))
            }
        }

        impl<A: Arith, T: $bound> ops::$trait<T> for V<A, T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: T) -> Self {
                A::apply::<p::$primitive<T>>((self, other.into()))
            }
        }
    )*};
}

operators! {
    Add add, Number, Add;
    Sub sub, Number, Sub;
    Mul mul, Number, Mul;
    Div div, Float, Div;
    BitAnd bitand, Bits, And;
    BitOr bitor, Bits, Or;
    BitXor bitxor, Bits, Xor;
}

impl<A: Arith, T: Number> ops::Neg for V<A, T> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        A::apply::<p::Neg<T>>((self,))
    }
}

impl<A: Arith, T: Bits> ops::Not for V<A, T> {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        self ^ T::ONES
    }
}

impl<A: Arith, T: Integer> ops::Shl<U32<A>> for V<A, T> {
    type Output = Self;

    #[inline(always)]
    fn shl(self, amount: U32<A>) -> Self {
        A::apply::<p::Shl<T>>((self, amount))
    }
}

impl<A: Arith, T: Integer> ops::Shl<u32> for V<A, T> {
    type Output = Self;

    #[inline(always)]
    fn shl(self, amount: u32) -> Self {
        self << U32::from(amount)
    }
}

impl<A: Arith, T: Integer> ops::Shr<U32<A>> for V<A, T> {
    type Output = Self;

    #[inline(always)]
    fn shr(self, amount: U32<A>) -> Self {
        A::apply::<p::Shr<T>>((self, amount))
    }
}

impl<A: Arith, T: Integer> ops::Shr<u32> for V<A, T> {
    type Output = Self;

    #[inline(always)]
    fn shr(self, amount: u32) -> Self {
        self >> U32::from(amount)
    }
}

/// Comparisons. Of floating-point numbers, all but [`V::ne`] are false for NaN.
impl<A: Arith, T: Number> V<A, T> {
    /// `self == other`
    #[inline(always)]
    pub fn eq(self, other: impl Into<Self>) -> Bool<A> {
        A::apply::<p::Equal<T>>((self, other.into()))
    }

    /// `self != other`
    #[inline(always)]
    pub fn ne(self, other: impl Into<Self>) -> Bool<A> {
        !self.eq(other)
    }

    /// `self < other`
    #[inline(always)]
    pub fn lt(self, other: impl Into<Self>) -> Bool<A> {
        A::apply::<p::Less<T>>((self, other.into()))
    }

    /// `self > other`
    #[inline(always)]
    pub fn gt(self, other: impl Into<Self>) -> Bool<A> {
        A::apply::<p::Less<T>>((other.into(), self))
    }

    /// `self <= other`
    #[inline(always)]
    pub fn le(self, other: impl Into<Self>) -> Bool<A> {
        A::apply::<p::LessOrEqual<T>>((self, other.into()))
    }

    /// `self >= other`
    #[inline(always)]
    pub fn ge(self, other: impl Into<Self>) -> Bool<A> {
        A::apply::<p::LessOrEqual<T>>((other.into(), self))
    }
}

impl<A: Arith, T: Scalar> V<A, T> {
    /// The same bits as another type of the same width.
    #[inline(always)]
    pub fn reinterpret<U: Scalar>(self) -> V<A, U> {
        const { assert!(size_of::<T>() == size_of::<U>(), "the types have one width") };
        A::apply::<p::Reinterpret<T, U>>((self,))
    }
}

impl<A: Arith> Bool<A> {
    /// 1 for true, 0 for false.
    #[inline(always)]
    pub fn to_integer<T: Integer>(self) -> V<A, T> {
        A::apply::<p::OfBool<T>>((self,))
    }
}

impl<A: Arith, T: Integer> V<A, T> {
    /// The number as another type: its low bits, or extended as its own type says.
    #[inline(always)]
    pub fn cast<U: Integer>(self) -> V<A, U> {
        A::apply::<p::Cast<T, U>>((self,))
    }

    /// The smaller of two numbers.
    #[inline(always)]
    pub fn min(self, other: impl Into<Self>) -> Self {
        A::apply::<p::Min<T>>((self, other.into()))
    }

    /// The larger of two numbers.
    #[inline(always)]
    pub fn max(self, other: impl Into<Self>) -> Self {
        A::apply::<p::Max<T>>((self, other.into()))
    }

    /// The upper half of the product of twice the width.
    #[inline(always)]
    pub fn high(self, other: Self) -> Self {
        A::apply::<p::High<T>>((self, other))
    }

    /// The quotient towards zero; see [`p::Quotient`].
    #[inline(always)]
    pub fn quotient(self, other: Self) -> Self {
        A::apply::<p::Quotient<T>>((self, other))
    }

    /// The sum, clamped to the range of the type.
    #[inline(always)]
    pub fn saturating_add(self, other: Self) -> Self {
        A::apply::<p::SaturatingAdd<T>>((self, other))
    }

    /// The difference, clamped to the range of the type.
    #[inline(always)]
    pub fn saturating_sub(self, other: Self) -> Self {
        A::apply::<p::SaturatingSub<T>>((self, other))
    }

    /// The number of one bits.
    #[inline(always)]
    pub fn count_ones(self) -> Self {
        A::apply::<p::CountOnes<T>>((self,))
    }

    /// The number of zero bits above the highest one bit.
    #[inline(always)]
    pub fn leading_zeros(self) -> Self {
        A::apply::<p::LeadingZeros<T>>((self,))
    }

    /// The bits in reverse order.
    #[inline(always)]
    pub fn reverse_bits(self) -> Self {
        A::apply::<p::ReverseBits<T>>((self,))
    }

    /// The upper half of the bits of `self` and `low` after a shift to the left by `amount` modulo the width.
    #[inline(always)]
    pub fn funnel_left(self, low: Self, amount: V<A, T>) -> Self {
        A::apply::<p::FunnelLeft<T>>((self, low, amount))
    }

    /// The lower half of the bits of `self` and `low` after a shift to the right by `amount` modulo the width.
    #[inline(always)]
    pub fn funnel_right(self, low: Self, amount: V<A, T>) -> Self {
        A::apply::<p::FunnelRight<T>>((self, low, amount))
    }

    /// The nearest floating-point number, ties to even.
    #[inline(always)]
    pub fn to_float<F: Float>(self) -> V<A, F> {
        A::apply::<p::OfInteger<F, T>>((self,))
    }
}

impl<A: Arith, T: Float> V<A, T> {
    /// The bits.
    #[inline(always)]
    pub fn to_bits(self) -> V<A, T::Bits> {
        self.reinterpret()
    }

    /// The number with these bits.
    #[inline(always)]
    pub fn from_bits(bits: impl Into<V<A, T::Bits>>) -> Self {
        bits.into().reinterpret()
    }

    /// Whether the number is NaN.
    #[inline(always)]
    pub fn is_nan(self) -> Bool<A> {
        A::apply::<p::IsNan<T>>((self,))
    }

    /// The magnitude; also of NaN, only the sign changes.
    #[inline(always)]
    pub fn abs(self) -> Self {
        A::apply::<p::Abs<T>>((self,))
    }

    /// The magnitude of `self` with the sign of `sign`.
    #[inline(always)]
    pub fn copysign(self, sign: Self) -> Self {
        A::apply::<p::Copysign<T>>((self, sign))
    }

    /// The square root.
    #[inline(always)]
    pub fn sqrt(self) -> Self {
        A::apply::<p::Sqrt<T>>((self,))
    }

    /// `self * b + c`, rounded once.
    #[inline(always)]
    pub fn mul_add(self, b: Self, c: Self) -> Self {
        A::apply::<p::Fma<T>>((self, b, c))
    }

    /// The number rounded to an integer. The rounding is known when the function is written.
    #[inline(always)]
    pub fn round(self, rounding: Rounding) -> Self {
        match rounding {
            Rounding::Nearest => A::apply::<p::RoundEven<T>>((self,)),
            Rounding::Zero => A::apply::<p::Truncate<T>>((self,)),
            Rounding::Down => A::apply::<p::Floor<T>>((self,)),
            Rounding::Up => A::apply::<p::Ceiling<T>>((self,)),
        }
    }

    /// The number towards zero, clamped to the range of the integers; zero for NaN.
    #[inline(always)]
    pub fn to_integer<I: Integer>(self) -> V<A, I> {
        A::apply::<p::ToInteger<T, I>>((self,))
    }
}

impl<A: Arith> F32<A> {
    /// The same number in 64 bits.
    #[inline(always)]
    pub fn widen(self) -> F64<A> {
        A::apply::<p::Widen>((self,))
    }

    /// The number, with all NaNs made [`float::NAN_F32`]; see [`p::Canonical`].
    #[inline(always)]
    pub fn canonical(self) -> Self {
        A::apply::<p::Canonical>((self,))
    }
}

impl<A: Arith> F64<A> {
    /// The nearest number of 32 bits, ties to even.
    #[inline(always)]
    pub fn narrow(self) -> F32<A> {
        A::apply::<p::Narrow>((self,))
    }

    /// The number, with every NaN made the NaN of an invalid operation; see [`p::Invalid`].
    #[inline(always)]
    pub fn invalid(self) -> Self {
        A::apply::<p::Invalid>((self,))
    }
}
