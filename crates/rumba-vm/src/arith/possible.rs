//! The bits of a result that may be set, given those of the operands: LLVM's known bits (`KnownBits`), of which only the zeros
//! are followed. A row of [`primitive`](crate::arith::primitive) names the function for its operation.

use crate::arith::scalar::{Integer, Number, Scalar};
use crate::base::ir::Element;

/// What is known of an operand.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The bits that may be set. So these bits are also the largest number without a sign.
    pub bits: u64,
    /// The operand is a constant: all these bits are set.
    pub is_constant: bool,
}

/// The bits of a result that may be set. Bits above the width of the result do not count.
pub type PossibleBits = fn(&[Known]) -> u64;

/// The bits that numbers of a type have.
pub fn all(element: Element) -> u64 {
    u64::MAX >> (64 - element.bits())
}

/// The bits that numbers up to this one have.
pub fn up_to(most: u64) -> u64 {
    u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0)
}

fn is_float<T: Scalar>() -> bool {
    matches!(T::ELEMENT, Element::F32 | Element::F64)
}

/// Whether the number may be negative.
fn may_be_negative<T: Integer>(bits: u64) -> bool {
    T::IS_SIGNED && bits >> (T::BITS - 1) != 0
}

/// `x + y`. Nothing is known of floating-point numbers.
pub(super) fn sum<T: Number>(x: &[Known]) -> u64 {
    let (a, b) = (x[0].bits, x[1].bits);
    if is_float::<T>() {
        return u64::MAX;
    }
    if a & b == 0 {
        return a | b;
    }
    let most = a.checked_add(b).map_or(u64::MAX, up_to);
    most & u64::MAX << (a | b).trailing_zeros()
}

/// `x * y`. Nothing is known of floating-point numbers.
pub(super) fn product<T: Number>(x: &[Known]) -> u64 {
    let (a, b) = (x[0].bits, x[1].bits);
    if is_float::<T>() {
        return u64::MAX;
    }
    if a == 0 || b == 0 {
        return 0;
    }
    let most = a.checked_mul(b).map_or(u64::MAX, up_to);
    most & u64::MAX.checked_shl(a.trailing_zeros() + b.trailing_zeros()).unwrap_or(0)
}

/// `x & y`
pub(super) fn intersection(x: &[Known]) -> u64 {
    x[0].bits & x[1].bits
}

/// `x | y`
pub(super) fn union(x: &[Known]) -> u64 {
    x[0].bits | x[1].bits
}

/// `if x { y } else { z }`
pub(super) fn selection(x: &[Known]) -> u64 {
    x[1].bits | x[2].bits
}

/// The same bits.
pub(super) fn same(x: &[Known]) -> u64 {
    x[0].bits
}

/// `x << y`
pub(super) fn left<T: Integer>(x: &[Known]) -> u64 {
    match amount::<T>(x[1]) {
        Some(amount) => x[0].bits << amount,
        None => u64::MAX.checked_shl(x[0].bits.trailing_zeros()).unwrap_or(0),
    }
}

/// `x >> y`
pub(super) fn right<T: Integer>(x: &[Known]) -> u64 {
    match amount::<T>(x[1]) {
        _ if may_be_negative::<T>(x[0].bits) => u64::MAX,
        Some(amount) => x[0].bits >> amount,
        None => up_to(x[0].bits),
    }
}

/// The amount of a shift, if it is constant.
fn amount<T: Integer>(x: Known) -> Option<u64> {
    x.is_constant.then_some(x.bits % u64::from(T::BITS))
}

/// The smaller of `x` and `y`
pub(super) fn smaller<T: Integer>(x: &[Known]) -> u64 {
    let (a, b) = (x[0].bits, x[1].bits);
    if may_be_negative::<T>(a | b) { u64::MAX } else { up_to(std::cmp::min(a, b)) }
}

/// The low bits of `x`, or `x` extended.
pub(super) fn cast<T: Integer>(x: &[Known]) -> u64 {
    let bits = x[0].bits;
    if may_be_negative::<T>(bits) { bits | u64::MAX << (T::BITS - 1) } else { bits }
}

/// A number of bits of `x`
pub(super) fn count<T: Integer>(_: &[Known]) -> u64 {
    up_to(T::BITS.into())
}
