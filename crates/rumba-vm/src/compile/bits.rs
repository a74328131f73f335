//! The bits of registers that may be set: addresses of tiles are put together by `or` from parts that share none, and
//! are sums then.

use crate::base::flow::Set;
use crate::compile::kernel::{Kernel, Location};
use crate::machine::op::opcode::{Linear, Opcode};
use crate::machine::program::{Class, Fixed, Flow, Program};
use crate::machine::special::Special;

/// For each register the bits that may be set in some lane.
pub(super) type Bits = Vec<u64>;

/// The bits of a slot.
fn all(class: Class) -> u64 {
    match class {
        Class::W32 => u32::MAX.into(),
        Class::W64 | Class::W128 => u64::MAX,
    }
}

/// The bits that numbers up to this one have.
fn up_to(most: u64) -> u64 {
    u64::MAX.checked_shr(most.leading_zeros()).unwrap_or(0)
}

/// The bits of a sum.
fn sum(a: u64, b: u64) -> u64 {
    if a & b == 0 {
        return a | b;
    }
    let most = up_to(a).checked_add(up_to(b)).map_or(u64::MAX, up_to);
    most & u64::MAX << (a | b).trailing_zeros()
}

/// The bits of a product.
fn product(a: u64, b: u64) -> u64 {
    if a == 0 || b == 0 {
        return 0;
    }
    let most = up_to(a).checked_mul(up_to(b)).map_or(u64::MAX, up_to);
    most & u64::MAX.checked_shl(a.trailing_zeros() + b.trailing_zeros()).unwrap_or(0)
}

/// The bits of a slot that the launch fills.
pub(super) fn of_fixed(program: &Program, class: Class, value: &Fixed) -> u64 {
    let most = match value {
        Fixed::Special(Special::Tid(axis)) => match program.required_block {
            Some(block) => u64::from(block[usize::from(*axis)]).saturating_sub(1),
            None => MOST_THREADS - 1,
        },
        Fixed::Special(Special::LaneId) => 31,
        Fixed::Special(Special::CtaId(_)) => i32::MAX as u64,
        _ => u64::MAX,
    };
    up_to(most) & all(class)
}

/// Threads of a block in one dimension.
const MOST_THREADS: u64 = 1024;

/// The facts where two paths join, and whether they change. A change is widened beyond the join: loops would otherwise change bit by bit.
pub(super) fn join(known: &mut u64, other: u64) -> bool {
    let is_changed = other & !*known != 0;
    if is_changed {
        *known = u64::MAX << (*known | other).trailing_zeros();
    }
    is_changed
}

impl Kernel<'_> {
    /// The bits that may be set in an operand.
    pub(super) fn bits(&self, index: usize, position: usize, bits: &Bits) -> u64 {
        let found = match self.operand(index, position) {
            Some(Location::Constant(value)) => value,
            Some(Location::Given { slot, .. }) => self.bits_of_fixed[usize::from(slot)],
            Some(Location::Register(number)) => bits[number],
            Some(Location::Memory(..)) | None => u64::MAX,
        };
        found & self.class(index, position).map_or(u64::MAX, all)
    }

    /// Updates the bits for what an operation does, while lanes wait at some blocks.
    pub(super) fn transfer_bits(&self, index: usize, bits: &mut Bits, pending: &Set) {
        let result = self.bits_of_result(index, bits);
        for number in self.written(index) {
            let kept = if self.is_kept(number, pending) { bits[number] } else { 0 };
            bits[number] = result | kept;
        }
    }

    /// The bits that may be set in what an operation writes.
    fn bits_of_result(&self, index: usize, bits: &Bits) -> u64 {
        let descriptor = self.descriptor(index);
        let Some(class) = descriptor.classes[0].filter(|_| descriptor.flow == Flow::Next) else {
            return u64::MAX;
        };
        let bits = |position| self.bits(index, position, bits);
        let narrow = |position| bits(position) & all(Class::W32);
        let result = match descriptor.opcode {
            Opcode::Lanes { linear, .. } => match linear {
                Linear::Copy => bits(1),
                Linear::ZeroExtended => narrow(1),
                Linear::SignExtended if narrow(1) >> 31 == 0 => narrow(1),
                Linear::Sum => sum(bits(1), bits(2)),
                Linear::Union => bits(1) | bits(2),
                Linear::Product => product(bits(1), bits(2)),
                Linear::WideProduct => product(narrow(1), narrow(2)),
                Linear::ProductSum => sum(product(bits(1), bits(2)), bits(3)),
                Linear::WideProductSum => sum(product(narrow(1), narrow(2)), bits(3)),
                Linear::Shift => match self.operand(index, 2) {
                    Some(Location::Constant(amount)) if amount < 64 => bits(1) << amount,
                    _ => u64::MAX,
                },
                Linear::No
                | Linear::SignExtended
                | Linear::Difference
                | Linear::SignedWideProduct
                | Linear::SignedWideProductSum => u64::MAX,
            },
            Opcode::Select => bits(1) | bits(2),
            Opcode::Load { bytes, count: 1, .. } if bytes < 4 => up_to((1 << (8 * bytes)) - 1),
            _ => u64::MAX,
        };
        result & all(class)
    }
}
