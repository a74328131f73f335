//! The difference of a result from lane to lane, given those of the operands: LLVM's scalar evolution, of which only constant steps are
//! followed. A row of [`primitive`](crate::arith::primitive) names the function for its operation.

use crate::arith::possible::{Kind, Known, up_to};

/// Numbers that differ from each lane to the next by the same step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stride {
    /// The step, modulo a power of two: at least as many low bits count as the numbers have.
    pub step: i64,
    /// The operands of the function, bit 0 for the first, whose numbers of 32 bits without a sign must not wrap between lanes.
    pub unsigned: u8,
    /// The same for numbers with a sign.
    pub signed: u8,
    /// The operand of the function of which the number is a copy, or the low bits.
    pub source: Option<u8>,
    /// The number is `x | y`, and `x + y` too, since no bit is set in both. From numbers of the first lane, of which more bits may be set
    /// if that lane is inactive, the number of the first lane is computed as the sum.
    pub is_union: bool,
}

/// How the operands of a function differ within a group of lanes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Steps<'a> {
    /// The step of each operand from lane to lane. Nothing is known of the operands beyond.
    pub steps: &'a [i64],
    /// The bits of each operand that may be set in the first lane. Nothing is known of the operands beyond.
    pub firsts: &'a [u64],
    /// How many lanes a group has beside the first.
    pub others: u64,
}

impl Steps<'_> {
    /// The bits that may be set in the distances of lanes from the first one, if these are not negative and small.
    pub(super) fn distance(&self, step: i64) -> Option<u64> {
        let most = u64::try_from(step).ok()?.checked_mul(self.others)?;
        (step == 0 || self.others > 0).then(|| up_to(most))
    }
}

/// The stride of a result, if it has one.
pub type Strides = fn(&[Known]) -> Option<Stride>;

impl Stride {
    /// The stride of an operand of the function.
    pub(super) fn of_operand(position: u8, step: i64) -> Self {
        Self { step, source: Some(position), ..Self::default() }
    }

    /// A step of what is computed from both numbers.
    fn and(self, other: Self, step: i64) -> Self {
        let (unsigned, signed) = (self.unsigned | other.unsigned, self.signed | other.signed);
        Self { step, unsigned, signed, ..Self::default() }
    }

    /// Whether the stride is this one wherever operands wrap.
    pub(super) fn is_unconditional(self) -> bool {
        self.unsigned | self.signed == 0
    }
}

/// The stride of a function of numbers that all lanes have in common.
pub(super) fn uniform(x: &[Known]) -> Option<Stride> {
    x.iter().try_fold(Stride::default(), |all, x| x.stride.filter(|x| x.step == 0).map(|x| all.and(x, 0)))
}

/// Nothing is known of lanes that differ.
pub(super) fn none(_: &[Known]) -> Option<Stride> {
    None
}

/// The same bits.
pub(super) fn same(x: &[Known]) -> Option<Stride> {
    Some(Stride { is_union: false, ..x[0].stride? })
}

/// `x + y`, of integers
pub(super) fn sum(x: &[Known]) -> Option<Stride> {
    let (a, b) = (x[0].stride?, x[1].stride?);
    Some(a.and(b, a.step.wrapping_add(b.step)))
}

/// `x - y`, of integers
pub(super) fn difference(x: &[Known]) -> Option<Stride> {
    let (a, b) = (x[0].stride?, x[1].stride?);
    Some(a.and(b, a.step.wrapping_sub(b.step)))
}

/// `-x`, of an integer
pub(super) fn negative(x: &[Known]) -> Option<Stride> {
    let a = x[0].stride?;
    Some(a.and(a, a.step.wrapping_neg()))
}

/// `x * y`, of integers
pub(super) fn product(x: &[Known]) -> Option<Stride> {
    let (a, b) = (x[0].stride?, x[1].stride?);
    let step = match (a.step, b.step) {
        (0, 0) => 0,
        (step, 0) => step.wrapping_mul(x[1].constant()?.cast_signed()),
        (0, step) => step.wrapping_mul(x[0].constant()?.cast_signed()),
        _ => return None,
    };
    Some(a.and(b, step))
}

/// `x | y`: a sum where no bit is set in both. Code that puts numbers together from parts, and no addresses, must not depend on the parts.
pub(super) fn union(x: &[Known]) -> Option<Stride> {
    let stride = sum(x).filter(|stride| stride.is_unconditional())?;
    if x[0].bits & x[1].bits == 0 { Some(Stride { is_union: true, ..stride }) } else { exclusive(x) }
}

/// `x ^ y`, where one number has its distances in bits that the other one, which all lanes have in common, does not have.
pub(super) fn exclusive(x: &[Known]) -> Option<Stride> {
    let (moving, distance, still) = moving(x)?;
    (distance & still.first == 0).then_some(moving)
}

/// `x & y`, where one number has its distances in bits that the other one either keeps or clears.
pub(super) fn intersection(x: &[Known]) -> Option<Stride> {
    let (moving, distance, still) = moving(x)?;
    if still.constant().is_some_and(|kept| distance & !kept == 0) {
        Some(moving)
    } else {
        (distance & still.first == 0).then_some(Stride { step: 0, ..moving })
    }
}

/// The stride and the distances of one of two numbers, and the other number, which all lanes have in common.
fn moving(x: &[Known]) -> Option<(Stride, u64, Known)> {
    let (a, b) = (x[0].stride?, x[1].stride?);
    let (number, still) = if b.step == 0 { (x[0], x[1]) } else { (x[1], x[0]) };
    let stride = a.and(b, a.step | b.step);
    ((a.step == 0 || b.step == 0) && stride.is_unconditional()).then_some((stride, number.distance?, still))
}

/// `x << y`
pub(super) fn left(kind: Kind, x: &[Known]) -> Option<Stride> {
    let (a, b) = (x[0].stride?, x[1].stride?);
    Some(a.and(b, a.step << kind.amount(x[1])?))
}

/// `x >> y`, which either clears the distances or leaves them whole.
pub(super) fn right(kind: Kind, x: &[Known]) -> Option<Stride> {
    let (stride, distance, amount) = (x[0].stride?, x[0].distance?, kind.amount(x[1])?);
    let is_whole = distance >> amount == 0 || stride.step.trailing_zeros() >= amount as u32;
    let is_known = is_whole && stride.is_unconditional() && !kind.may_be_negative(distance);
    is_known.then_some(stride.and(stride, stride.step >> amount))
}

/// The low bits of `x`, or `x` extended from 32 bits.
pub(super) fn cast(kind: Kind, bits: u32, x: &[Known]) -> Option<Stride> {
    let stride = x[0].stride?;
    if bits <= kind.bits {
        return same(x);
    }
    let step = i64::from(stride.step as i32);
    let operand = match (step, kind.bits) {
        (0, _) => 0,
        _ if x[0].distance.is_some_and(|distance| !kind.may_be_negative(distance)) => 0,
        (_, 32) => 1 << stride.source?,
        _ => return None,
    };
    let [unsigned, signed] = if kind.is_signed { [0, operand] } else { [operand, 0] };
    Some(stride.and(Stride { unsigned, signed, ..Stride::default() }, step))
}
