//! The bits of registers that may be set: addresses of tiles are put together by `or` from parts that share none, and
//! are sums then.

use crate::arith::{LaneForm, all, up_to};
use crate::base::flow::Set;
use crate::base::ir::Value;
use crate::compile::kernel::{Kernel, Location, raw};
use crate::machine::op::opcode::Opcode;
use crate::machine::program::{Class, Fixed, Flow, Program};
use crate::machine::special::Special;

/// For each register the bits that may be set in some lane.
pub(super) type Bits = Vec<u64>;

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
    up_to(most) & all(raw(class))
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
        let found = self.operand(index, position).map_or(u64::MAX, |place| self.bits_of(place, bits));
        found & self.class(index, position).map_or(u64::MAX, |class| all(raw(class)))
    }

    /// The bits that may be set in a location. Its largest value is the one with all these bits.
    pub(super) fn bits_of(&self, place: Location, bits: &Bits) -> u64 {
        match place {
            Location::Constant(value) => value,
            Location::Given { slot, .. } => self.bits_of_fixed[usize::from(slot)],
            Location::Register(number) => bits[number],
            Location::Memory(..) => u64::MAX,
        }
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
        let result = match descriptor.opcode {
            Opcode::Lanes { form: LaneForm { form: Some(function), operands, .. } } => {
                function.possible_bits(self.op(index).extra, &self.known(index, operands.len(), bits))
            }
            Opcode::Select => self.bits(index, 1, bits) | self.bits(index, 2, bits),
            Opcode::Load { bytes, count: 1, .. } if bytes < 4 => up_to((1 << (8 * bytes)) - 1),
            _ => u64::MAX,
        };
        result & all(raw(class))
    }

    /// The numbers and the bits that are known of the first operands.
    pub(super) fn known(&self, index: usize, count: usize, bits: &Bits) -> Vec<Value> {
        let known = |position: usize| {
            let element = self.element(index, position);
            Some(match self.operand(index, position)? {
                Location::Constant(value) => Value::integer(element, value),
                Location::Given { .. } | Location::Register(_) | Location::Memory(..) => {
                    Value::named("", element, false).with_possible_bits(self.bits(index, position, bits))
                }
            })
        };
        (1..=count).filter_map(known).collect()
    }
}
