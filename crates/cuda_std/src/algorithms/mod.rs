//! Reductions and scans of whole slices by one launch, for any operator, and the transpose: what the runtime's algorithms and
//! the gallery's kernels are made of, and what makes a kernel of a function of one's own.
//!
//! An [`Operator`] says how two elements become one. [`reduce`] and [`scan`] are bodies of kernels, for the whole grid; the
//! attribute [`#[reduction]`](crate::reduction) makes the operator and both
//! kernels of a function. How many blocks a launch has
//! and what work memory it is given is the runtime's business, `rumba::algorithms`.
//!
//! | operator | of | of nothing |
//! |---|---|---|
//! | [`Sum`], [`Product`] | numbers; integers wrap around | 0, 1 |
//! | [`Min`], [`Max`] | numbers; NaN loses against a number | the largest, the smallest there is |
//! | [`And`], [`Or`], [`Xor`] | integers | all bits, none, none |
//!
//! The order in which elements are combined depends on their number and on the launch only, never on luck: sums of floats
//! are the same each time on the same device. They differ between devices, and from a sum from left to right, by rounding.

mod for_each;
mod look_back;
mod reduce;
mod scan;
mod transpose;
mod unrolled;

pub use for_each::for_each;
pub use look_back::{LookBack, places as scan_places};
pub use reduce::{BLOCK as REDUCE_BLOCK, reduce};
pub use scan::{
    BLOCK as SCAN_BLOCK, Output as ScanOutput, ROWS as SCAN_ROWS, TILE as SCAN_TILE, WARPS as SCAN_WARPS, scan,
};
pub use transpose::{BLOCK as TRANSPOSE_BLOCK, Output as TransposeOutput, TILE as TRANSPOSE_TILE, transpose};
pub use unrolled::{Each, Items};

use bytemuck::{Pod, Zeroable};

use crate::collective::warp::{Bits, Extreme, Sum as WarpSum};
#[cfg(not(target_arch = "nvptx64"))]
use crate::launch::{Call, Memory, MemoryMut};

/// How two elements become one.
///
/// It must be associative, up to rounding: `combine(combine(a, b), c)` is `combine(a, combine(b, c))`. [`reduce`] also
/// exchanges elements, so for it the operator must be commutative; [`scan`] keeps the order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not combine elements of type `{T}`",
    note = "`Sum`, `Product`, `Min` and `Max` combine numbers, `And`, `Or` and `Xor` integers; `#[reduction]` makes an operator of a \
            function"
)]
pub trait Operator<T>: Copy + 'static {
    /// Both as one; `a` stands before `b`.
    fn combine(a: T, b: T) -> T;
}

/// An operator with an element that changes nothing: the result for no elements.
pub trait Identity<T>: Operator<T> {
    /// `combine(IDENTITY, a)` is `a`.
    const IDENTITY: T;
}

/// An operator whose kernels are compiled: what `#[reduction]` makes. A runtime launches them.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Compiled<T: Pod>: Operator<T> {
    /// The launch of [`reduce`].
    fn reduce<'c>(x: impl Memory<'c, T>, work: impl MemoryMut<'c, u32>, result: impl MemoryMut<'c, u32>) -> Call<'c>;

    /// The launch of [`scan`].
    fn scan<'c>(
        x: impl Memory<'c, T>,
        initial: T,
        is_exclusive: bool,
        y: impl MemoryMut<'c, T>,
        published: impl MemoryMut<'c, u64>,
    ) -> Call<'c>;
}

/// `a + b`; integers wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;

/// `a * b`; integers wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub struct Product;

/// The smaller; of a number and a NaN the number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Min;

/// The larger; of a number and a NaN the number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Max;

/// `a & b`: the bits set in both operands.
#[derive(Clone, Copy, Debug, Default)]
pub struct And;

/// `a | b`: the bits set in either operand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Or;

/// `a ^ b`: the bits set in exactly one operand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Xor;

macro_rules! operators {
    ($($operator:ident<$bound:ident>: |$a:ident, $b:ident| $combine:expr;)*) => {$(
        impl<T: $bound> Operator<T> for $operator {
            #[inline(always)]
            fn combine($a: T, $b: T) -> T {
                $combine
            }
        }
    )*};
}

operators! {
    Sum<WarpSum>: |a, b| a.plus(b);
    Min<Extreme>: |a, b| a.smaller(b);
    Max<Extreme>: |a, b| a.larger(b);
    And<Bits>: |a, b| a & b;
    Or<Bits>: |a, b| a | b;
    Xor<Bits>: |a, b| a ^ b;
}

macro_rules! numbers {
    ($($ty:ident: |$a:ident, $b:ident| $product:expr, $one:literal, $least:expr, $most:expr;)*) => {$(
        impl Operator<$ty> for Product {
            #[inline(always)]
            fn combine($a: $ty, $b: $ty) -> $ty {
                $product
            }
        }
        impl Identity<$ty> for Sum {
            const IDENTITY: $ty = <$ty as WarpSum>::ZERO;
        }
        impl Identity<$ty> for Product {
            const IDENTITY: $ty = $one;
        }
        impl Identity<$ty> for Min {
            const IDENTITY: $ty = $most;
        }
        impl Identity<$ty> for Max {
            const IDENTITY: $ty = $least;
        }
    )*};
}

numbers! {
    u32: |a, b| a.wrapping_mul(b), 1, u32::MIN, u32::MAX;
    i32: |a, b| a.wrapping_mul(b), 1, i32::MIN, i32::MAX;
    u64: |a, b| a.wrapping_mul(b), 1, u64::MIN, u64::MAX;
    i64: |a, b| a.wrapping_mul(b), 1, i64::MIN, i64::MAX;
    f32: |a, b| a * b, 1.0, f32::NEG_INFINITY, f32::INFINITY;
    f64: |a, b| a * b, 1.0, f64::NEG_INFINITY, f64::INFINITY;
}

macro_rules! bits {
    ($($ty:ident)*) => {$(
        impl Identity<$ty> for And {
            const IDENTITY: $ty = !0;
        }
        impl Identity<$ty> for Or {
            const IDENTITY: $ty = 0;
        }
        impl Identity<$ty> for Xor {
            const IDENTITY: $ty = 0;
        }
    )*};
}

bits!(u32 i32 u64 i64);

/// Combines what may not be there.
#[inline(always)]
fn combine<T, O: Operator<T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(O::combine(a, b)),
        (Some(value), None) | (None, Some(value)) => Some(value),
        (None, None) => None,
    }
}

/// A value as words of 32 bits, in which it passes from block to block.
#[inline(always)]
fn words<T: Pod>(value: &T) -> &[u32] {
    const {
        assert!(size_of::<T>().is_multiple_of(4) && align_of::<T>() >= 4, "elements are whole words");
    };
    bytemuck::cast_slice(core::slice::from_ref(value))
}

/// A value of which `word` gives each word.
#[inline(always)]
fn from_words<T: Zeroable + Pod>(mut word: impl FnMut(usize) -> u32) -> T {
    let mut value = T::zeroed();
    for (i, place) in bytemuck::cast_slice_mut::<T, u32>(core::slice::from_mut(&mut value)).iter_mut().enumerate() {
        *place = word(i);
    }
    value
}
