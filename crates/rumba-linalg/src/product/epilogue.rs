//! The epilogues of the library's products.

use bytemuck::{NoUninit, Pod};
use cuda_std::Element;
use cuda_std::float::approx::{ex2_ftz, rcp};
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;

/// A function of each element, before the residual is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Activation {
    /// None.
    #[default]
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// `x Φ(x)`, with the normal distribution's Φ by its usual approximation with `tanh` (Hendrycks, Gimpel 2016).
    Gelu,
    /// `x / (1 + exp(-x))`, also called swish.
    Silu,
}

/// The types of accumulators, in which epilogues compute, too.
pub trait Real: Pod + Element + PartialEq {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Whether these are whole numbers.
    const WHOLE: bool;

    /// `self * a + b`.
    #[must_use]
    fn times_plus(self, a: Self, b: Self) -> Self;

    /// The activation.
    #[must_use]
    fn activated(self, activation: Activation) -> Self;
}

/// GELU approximates `x Φ(x)` by `x (1 + tanh(y)) / 2 = x / (1 + exp(-2 y))` with `2 y = x (GELU[0] + GELU[1] x²)`,
/// where `GELU[0]` is 2 √(2/π), and `GELU[1]` is 0.044715 times `GELU[0]`.
const GELU: [f64; 2] = [1.595_769_121_605_730_7, 0.071_354_816_272_600_25];

macro_rules! floats {
    ($($ty:ident, $gated:ident;)*) => {$(
        /// `x / (1 + exp(-gate))`.
        #[inline(always)]
        fn $gated(x: $ty, gate: $ty) -> $ty {
            x / (1.0 + GpuFloat::exp(-gate))
        }

        impl Real for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const WHOLE: bool = false;

            #[inline(always)]
            fn times_plus(self, a: Self, b: Self) -> Self {
                GpuFloat::mul_add(self, a, b)
            }

            #[inline(always)]
            fn activated(self, activation: Activation) -> Self {
                match activation {
                    Activation::Identity => self,
                    Activation::Relu => if self < 0.0 { 0.0 } else { self },
                    Activation::Gelu => $gated(self, self * GpuFloat::mul_add(self * self, GELU[1] as $ty, GELU[0] as $ty)),
                    Activation::Silu => $gated(self, self),
                }
            }
        }
    )*};
}

floats! {
    f32, gated_f32;
    f64, gated_f64;
}

impl Real for i32 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const WHOLE: bool = true;

    #[inline(always)]
    fn times_plus(self, a: Self, b: Self) -> Self {
        self.wrapping_mul(a).wrapping_add(b)
    }

    #[inline(always)]
    fn activated(self, activation: Activation) -> Self {
        match activation {
            // The runtime offers no others of whole numbers.
            Activation::Identity | Activation::Gelu | Activation::Silu => self,
            Activation::Relu => self.max(0),
        }
    }
}

/// Elements of outputs, for sums of type `S`.
pub trait Output<S>: Pod + Element {
    /// The nearest to a number.
    fn of(value: S) -> Self;

    /// The number.
    fn number(self) -> S;
}

macro_rules! outputs {
    ($($ty:ident of $sum:ident: |$value:ident| $of:expr, $number:expr;)*) => {$(
        impl Output<$sum> for $ty {
            #[inline(always)]
            fn of($value: $sum) -> Self {
                $of
            }

            #[inline(always)]
            fn number(self) -> $sum {
                let $value = self;
                $number
            }
        }
    )*};
}

outputs! {
    f16 of f32: |value| f16::from_f32(value), value.to_f32();
    bf16 of f32: |value| bf16::from_f32(value), value.to_f32();
    f32 of f32: |value| value, value;
    f64 of f64: |value| value, value;
    i32 of i32: |value| value, value;
}

/// `activation(alpha sum + bias) + residual + beta old`, where bias and residual are left out if they have no elements.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, S, U> {
    bias: View<'a, U, 3>,
    residual: View<'a, U, 3>,
    alpha: S,
    beta: S,
    activation: Activation,
}

impl<'a, S: Real, U: Output<S>> Epilogue<'a, S, U> {
    /// A bias has a number for each row, each column or each element, by its strides; a residual has one for each element. Where `beta` is
    /// 0, old elements are not read.
    #[inline(always)]
    #[must_use]
    pub fn new(bias: View<'a, U, 3>, residual: View<'a, U, 3>, alpha: S, beta: S, activation: Activation) -> Self {
        Self { bias, residual, alpha, beta, activation }
    }

    /// The function from a sum to an element, if the element depends on its sum alone.
    #[inline(always)]
    pub fn value(&self) -> Option<impl Fn(S) -> U + use<S, U>> {
        let Self { alpha, beta, activation, .. } = *self;
        let is_plain =
            self.bias.is_empty() && self.residual.is_empty() && beta == S::ZERO && activation == Activation::Identity;
        is_plain.then_some(move |sum: S| U::of(sum.times_plus(alpha, S::ZERO)))
    }

    /// Writes an element.
    #[inline(always)]
    pub fn finish(&self, index: [usize; 3], sum: S, element: &mut U) {
        let number = |view: &View<'_, U, 3>| view.get(index).map_or(S::ZERO, |element| element.number());
        let Self { alpha, beta, activation, .. } = *self;
        let mut value = sum.times_plus(alpha, number(&self.bias)).activated(activation);
        if !self.residual.is_empty() {
            value = number(&self.residual).times_plus(S::ONE, value);
        }
        if beta != S::ZERO {
            value = element.number().times_plus(beta, value);
        }
        *element = U::of(value);
    }
}

/// An activation as two functions with numbers, so that there is little code for each sum; by approximations, whose errors are some
/// units in the last place of `f32`.
#[derive(Clone, Copy)]
pub(crate) struct Curve {
    /// The lower bound: smaller results become this number.
    least: f32,
    /// Whether it is `x / (1 + exp(-y))` with `y = slope x + cube x³`. Both are times log₂ e, of which `ex2` is the inverse.
    pub(crate) is_smooth: bool,
    slope: f32,
    cube: f32,
}

impl Curve {
    #[inline(always)]
    pub(crate) fn of(activation: Activation) -> Self {
        let straight = |least| Self { least, is_smooth: false, slope: 0.0, cube: 0.0 };
        let smooth = |[slope, cube]: [f64; 2]| Self {
            least: f32::NEG_INFINITY,
            is_smooth: true,
            slope: (slope * core::f64::consts::LOG2_E) as f32,
            cube: (cube * core::f64::consts::LOG2_E) as f32,
        };
        match activation {
            Activation::Identity => straight(f32::NEG_INFINITY),
            Activation::Relu => straight(0.0),
            Activation::Gelu => smooth(GELU),
            Activation::Silu => smooth([1.0, 0.0]),
        }
    }

    #[inline(always)]
    pub(crate) fn smooth(self, x: f32) -> f32 {
        let y = x * GpuFloat::mul_add(self.cube, x * x, self.slope);
        x * rcp(1.0 + ex2_ftz(-y))
    }

    #[inline(always)]
    pub(crate) fn straight(self, x: f32) -> f32 {
        if x < self.least { self.least } else { x }
    }
}

/// The types of accumulators of warp groups.
pub trait Sum: Real {
    /// [`Real::activated`], of four numbers.
    fn activated_four(numbers: [Self; 4], activation: Activation) -> [Self; 4];
}

impl Sum for f32 {
    #[inline(always)]
    fn activated_four(numbers: [Self; 4], activation: Activation) -> [Self; 4] {
        let curve = Curve::of(activation);
        if curve.is_smooth { numbers.map(|x| curve.smooth(x)) } else { numbers.map(|x| curve.straight(x)) }
    }
}

impl Sum for i32 {
    #[inline(always)]
    fn activated_four(numbers: [Self; 4], activation: Activation) -> [Self; 4] {
        numbers.map(|x| x.activated(activation))
    }
}

/// Four elements of a bias, and four of a residual.
pub(crate) type Beside<U> = [[U; 4]; 2];

impl<S: Sum, U: Output<S>> Epilogue<'_, S, U> {
    /// Reads the addends of four neighbouring sums.
    #[inline(always)]
    pub(crate) fn beside(&self, index: [u32; 3]) -> Beside<U> {
        let index = index.map(|at| at as usize);
        let read = |view: &View<'_, U, 3>| {
            if view.is_empty() { [U::zeroed(); 4] } else { view.four(index, U::zeroed()) }
        };
        [read(&self.bias), read(&self.residual)]
    }

    /// Computes four neighbouring elements.
    #[inline(always)]
    pub(crate) fn finish_four(&self, sums: [S; 4], old: [U; 4], [bias, residual]: Beside<U>) -> [U; 4] {
        let Self { alpha, beta, activation, .. } = *self;
        let plus = |[a, b, c, d]: [S; 4], factor: S, [e, f, g, h]: [S; 4]| {
            [a.times_plus(factor, e), b.times_plus(factor, f), c.times_plus(factor, g), d.times_plus(factor, h)]
        };
        let mut values = S::activated_four(plus(sums, alpha, bias.map(U::number)), activation);
        if !self.residual.is_empty() {
            values = plus(residual.map(U::number), S::ONE, values);
        }
        if beta != S::ZERO {
            values = plus(old.map(U::number), beta, values);
        }
        values.map(U::of)
    }
}
