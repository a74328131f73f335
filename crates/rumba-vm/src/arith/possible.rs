//! The bits of a result that may be set, given those of the operands: LLVM's known bits, of which only the zeros are followed. A row of
//! [`primitive`](crate::arith::primitive) names the function for its operation.

use crate::arith::strides::Stride;
use crate::base::ir::Element;

/// What is known of a number of all lanes.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// The bits that may be set. So these bits are also the largest number without a sign.
    pub bits: u64,
    /// The number is a constant: all these bits are set.
    pub is_constant: bool,
    /// The bits that may be set in the first lane of a group.
    pub first: u64,
    /// How the number differs from lane to lane; `None`: in any way.
    pub stride: Option<Stride>,
    /// The bits that may be set in how far lanes are from the first one of their group, if the first lane's number has none of these
    /// bits: the number of a lane is the first lane's number `|` this distance.
    pub distance: Option<u64>,
}

impl Known {
    /// What is known of a constant.
    pub(super) fn of_constant(bits: u64) -> Self {
        Self { bits, is_constant: true, first: bits, stride: Some(Stride::default()), distance: Some(0) }
    }

    /// The number, if it is constant.
    pub(super) fn constant(self) -> Option<u64> {
        self.is_constant.then_some(self.bits)
    }
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

/// A type of integers.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The width.
    pub bits: u32,
    /// Whether there are negative numbers.
    pub is_signed: bool,
}

impl Kind {
    /// Whether a number may be negative.
    pub(super) fn may_be_negative(self, bits: u64) -> bool {
        self.is_signed && bits >> (self.bits - 1) != 0
    }

    /// The amount of a shift, if it is constant.
    pub(super) fn amount(self, x: Known) -> Option<u64> {
        Some(x.constant()? % u64::from(self.bits))
    }
}

/// Nothing is known.
pub(super) fn any(_: &[Known]) -> u64 {
    u64::MAX
}

/// `x + y`, of integers
pub(super) fn sum(x: &[Known]) -> u64 {
    let (a, b) = (x[0].bits, x[1].bits);
    if a & b == 0 {
        return a | b;
    }
    let most = a.checked_add(b).map_or(u64::MAX, up_to);
    most & u64::MAX << (a | b).trailing_zeros()
}

/// `x * y`, of integers
pub(super) fn product(x: &[Known]) -> u64 {
    let (a, b) = (x[0].bits, x[1].bits);
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
pub(super) fn left(kind: Kind, x: &[Known]) -> u64 {
    match kind.amount(x[1]) {
        Some(amount) => x[0].bits << amount,
        None => u64::MAX.checked_shl(x[0].bits.trailing_zeros()).unwrap_or(0),
    }
}

/// `x >> y`
pub(super) fn right(kind: Kind, x: &[Known]) -> u64 {
    match kind.amount(x[1]) {
        _ if kind.may_be_negative(x[0].bits) => u64::MAX,
        Some(amount) => x[0].bits >> amount,
        None => up_to(x[0].bits),
    }
}

/// `min(x, y)`
pub(super) fn smaller(kind: Kind, x: &[Known]) -> u64 {
    let (a, b) = (x[0].bits, x[1].bits);
    if kind.may_be_negative(a | b) { u64::MAX } else { up_to(std::cmp::min(a, b)) }
}

/// The low bits of `x`, or `x` extended.
pub(super) fn cast(kind: Kind, x: &[Known]) -> u64 {
    let bits = x[0].bits;
    if kind.may_be_negative(bits) { bits | u64::MAX << (kind.bits - 1) } else { bits }
}

/// A number of bits
pub(super) fn count(kind: Kind, _: &[Known]) -> u64 {
    up_to(kind.bits.into())
}
